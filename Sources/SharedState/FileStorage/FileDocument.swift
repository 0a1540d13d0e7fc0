import Dispatch
import Foundation
import Synchronization

/// One shared file: reads it, writes it when its throttle allows, and reports changes by other programs.
///
/// Shares of one file with several types of value have one document, which passes on each other's changes.
final class FileDocument: Sendable {
  /// Takes the new content of the file, and its edition; `nil` when it was deleted.
  typealias Observer = @Sendable (Result<Data?, any Error>, _ edition: UInt64) -> Void

  private struct Observation {
    let author: KeyAuthor
    let observer: Observer
  }

  /// The content of the file when it was last read.
  private enum Content: Hashable {
    case unknown
    case missing
    case present(FileStamp, hash: Int)
    case unreadable
  }

  private struct State {
    var content = Content.unknown
    /// Numbers the contents that were found, and the changes that were submitted. An author saves only if it has seen
    /// the newest one, so that it replaces none unseen.
    var edition: UInt64 = 0
    /// The edition of the present content. A newer one may be pending.
    var contentEdition: UInt64 = 0
    /// For each type of value, the newest edition that was decoded as one, and whether that could be read.
    var decoded: [ObjectIdentifier: (edition: UInt64, isReadable: Bool)] = [:]
    var observers = Observers<Observation>()
    /// Counts the changes that were submitted here.
    var changes: UInt64 = 0
    /// Whether a check of the file was postponed because of a write.
    var isCheckPostponed = false
    /// Whether a file that could not be read is about to be read again.
    var isRetryScheduled = false

    /// The file has this content.
    mutating func found(_ content: Content) {
      if !FileDocument.isSame(self.content, content) {
        edition += 1
        contentEdition = edition
      }
      self.content = content
    }

    /// Those that have not seen the newest edition.
    var uninformed: [Observation] { observers.all.filter { $0.author.seen < edition } }
  }

  let path: String
  private let files: any FileSystem
  /// Checks the file, and performs the writes that no caller waits for. Tests wait for it.
  let queue: DispatchQueue
  private let writer: ThrottledWriter
  private let watch: FileWatch
  private let state = Mutex(State())
  private let onDeinit: @Sendable () -> Void

  init(path: String, files: any FileSystem, queue: DispatchQueue, onDeinit: @escaping @Sendable () -> Void) {
    self.path = path
    self.files = files
    self.queue = queue
    self.onDeinit = onDeinit
    let document = WeakOwner<FileDocument>()
    writer = ThrottledWriter(interval: files.saveInterval, queue: queue) { document.owner?.didBecomeIdle() }
    watch = FileWatch(every: files.watchInterval, on: queue) { onChange, onEnd in
      try files.watch(path, onChange: onChange, onEnd: onEnd)
    } check: {
      document.owner?.check()
    }
    document.owner = self
  }

  deinit {
    onDeinit()
  }

  // MARK: Reading

  /// The content of the file now, and its edition; `nil` when there is none.
  func read() -> (content: Result<Data?, any Error>, edition: UInt64) {
    let (changes, before) = state.withLock { ($0.changes, $0.contentEdition) }
    let isIdle = writer.isIdle
    let result = Result { try files.read(path) }
    let (edition, isToBeReported) = state.withLock { state in
      // A change that was submitted, or is being written, may be newer than what was read.
      if isIdle, state.changes == changes {
        state.found(Self.content(of: result))
        return (state.contentEdition, !state.uninformed.isEmpty)
      }
      return (before, true)
    }
    // Otherwise only the reader would see it.
    if isToBeReported { watch.setNeedsCheck() }
    return (result.map { $0?.data }, edition)
  }

  /// Reads the file, after the pending change has been written to it.
  func load(_ completion: @escaping @Sendable (Result<Data?, any Error>, _ edition: UInt64) -> Void) {
    writer.afterWriting {
      let (content, edition) = self.read()
      completion(content, edition)
    }
  }

  /// Notes whether an edition is a document of this type. If the newest one is not, it is replaced only on request.
  func didDecode(as type: ObjectIdentifier, _ edition: UInt64, isReadable: Bool) {
    state.withLock { state in
      if edition >= state.decoded[type]?.edition ?? 0 { state.decoded[type] = (edition, isReadable) }
    }
  }

  // MARK: Writing

  /// Writes a new content, now or when its turn comes.
  ///
  /// - Parameters:
  ///   - type: The type of the value.
  ///   - author: The key. Its own observer is not notified.
  ///   - context: An explicit save is written immediately. Content that cannot be read is replaced only on request.
  ///   - encode: Makes the content when its turn comes; `nil` deletes the file.
  func save(
    as type: ObjectIdentifier,
    by author: KeyAuthor,
    context: SaveContext,
    continuation: SaveContinuation,
    encode: @escaping @Sendable () throws -> Data?
  ) {
    let (edition, refusal) = state.withLock { state -> (UInt64, FileStorageError?) in
      if context != .replacingUnreadable {
        let isUnread = state.content == .unreadable || state.decoded[type]?.isReadable == false
        if isUnread { return (0, .wouldReplaceUnreadable(path: path)) }
        guard author.submit(after: state.edition, shown: Receipt.shownBeforeSave) else {
          return (0, .changedElsewhere(path: path))
        }
      } else {
        author.replace(state.edition)
      }
      state.changes += 1
      state.edition += 1
      state.decoded[type] = (state.edition, true)
      return (state.edition, nil)
    }
    if let refusal {
      watch.setNeedsCheck()
      return continuation.resume(throwing: refusal)
    }
    writer.submit(isUrgent: context != .didSet, continuation: continuation) {
      do {
        try self.write(encode(), edition, by: author, replacesAnything: context == .replacingUnreadable)
      } catch {
        // The file was not checked meanwhile.
        self.watch.setNeedsCheck()
        throw error
      }
    }
  }

  private func write(_ data: Data?, _ edition: UInt64, by author: KeyAuthor, replacesAnything: Bool) throws {
    let verify = { @Sendable in if !replacesAnything { try self.compare() } }
    // Counted here as well, so that a check that began before this write does not mistake it for another program's.
    state.withLock { $0.changes += 1 }
    let content: FileContent?
    if let data {
      content = FileContent(data: data, stamp: try write(data, verify))
    } else {
      try verify()
      if try files.stamp(of: path) != nil { try files.remove(path) }
      content = nil
    }
    let others = state.withLock { state in
      (state.content, state.contentEdition) = (Self.content(of: content), edition)
      return state.observers.all.filter { $0.author !== author }
    }
    for other in others { other.observer(.success(data), edition) }
  }

  private func write(_ data: Data, _ verify: () throws -> Void) throws -> FileStamp {
    do {
      return try files.write(data, to: path, verify: verify)
    } catch {
      // It may have failed behind the replacement. Then the next change must not take this one for another program's.
      if let found = try? files.read(path), found.data == data {
        state.withLock { $0.content = Self.content(of: found) }
      }
      throw error
    }
  }

  /// Throws an error when another program has changed the file since it was read here, so that its change is not lost.
  private func compare() throws {
    let before = state.withLock { $0.content }
    guard before != .unknown, before != .unreadable else { return }
    let now = try files.stamp(of: path)
    if case .present(let stamp, _) = before, stamp == now { return }
    if before == .missing, now == nil { return }
    guard Self.isSame(before, Self.content(of: try files.read(path))) else {
      throw FileStorageError.changedElsewhere(path: path)
    }
  }

  private func didBecomeIdle() {
    if state.withLock({ $0.isCheckPostponed }) { watch.setNeedsCheck() }
  }

  // MARK: Watching

  /// Notifies the observer of every change that is not a save of its own key, from any thread, one after the other.
  ///
  /// - Parameter onWatchError: Takes the reason why the file is not watched; `nil` when it is again.
  func observe(
    by author: KeyAuthor,
    _ observer: @escaping Observer,
    onWatchError: @escaping FileWatch.ErrorObserver = { _ in }
  ) -> SharedSubscription {
    let number = state.withLock { $0.observers.insert(Observation(author: author, observer: observer)) }
    let watching = watch.observe(onError: onWatchError)
    // The file may have changed since the value was loaded.
    watch.setNeedsCheck()
    return SharedSubscription { [weak self] in
      self?.state.withLock { $0.observers.remove(number) }
      watching.cancel()
    }
  }

  /// Notifies the observers when the content of the file has changed.
  ///
  /// Called on the queue only, so that observers see changes in order. While a change is pending here, the file is
  /// checked once that is written, or refused because of another program's change.
  private func check() {
    let (before, changes, isForced) = state.withLock { state in
      state.isCheckPostponed = true
      return (state.content, state.changes, !state.uninformed.isEmpty)
    }
    // Checked after the flag is set, so that this thread or the writing one sees the other.
    guard writer.isIdle else { return }
    state.withLock { $0.isCheckPostponed = false }
    if !isForced, case .present(let stamp, _) = before, let now = try? files.stamp(of: path), stamp == now { return }
    let result = Result { try files.read(path) }
    let (isOld, edition, notified) = state.withLock { state -> (Bool, UInt64, [Observation]) in
      // Saved or checked elsewhere meanwhile, so the content may be old.
      guard state.changes == changes, state.content == before else { return (true, 0, []) }
      state.found(Self.content(of: result))
      return (false, state.edition, state.uninformed)
    }
    if isOld { return watch.setNeedsCheck() }
    for observation in notified { observation.observer(result.map { $0?.data }, edition) }
    if case .failure = result { scheduleRetry() }
  }

  /// Checks the file again after a while, because no event says that the system lets it be read again. Until then, no
  /// change can be saved.
  private func scheduleRetry() {
    let isFirst = state.withLock { state in
      guard !state.observers.all.isEmpty else { return false }
      defer { state.isRetryScheduled = true }
      return !state.isRetryScheduled
    }
    guard isFirst else { return }
    queue.asyncAfter(deadline: .now() + files.watchInterval / .seconds(1)) { [weak self] in
      self?.state.withLock { $0.isRetryScheduled = false }
      self?.watch.setNeedsCheck()
    }
  }

  private static func content(of result: Result<FileContent?, any Error>) -> Content {
    switch result {
    case .success(let content): Self.content(of: content)
    case .failure: .unreadable
    }
  }

  private static func content(of content: FileContent?) -> Content {
    guard let content else { return .missing }
    // The hash value of `Data` itself covers the first bytes only.
    var hasher = Hasher()
    content.data.withUnsafeBytes { hasher.combine(bytes: $0) }
    return .present(content.stamp, hash: hasher.finalize())
  }

  private static func isSame(_ before: Content, _ after: Content) -> Bool {
    if case .present(_, let before) = before, case .present(_, let after) = after { return before == after }
    return before == after
  }
}

/// Finds the one document of each file.
final class FileDocuments: Sendable {
  private struct Entry {
    weak var document: FileDocument?
  }

  private let files: any FileSystem
  /// One for all documents: with one each, the system starts a thread for each of them that is busy at a time.
  private let queue = DispatchQueue(label: "SharedState.FileDocuments")
  private let documents = Mutex<[Name: Entry]>([:])

  init(files: any FileSystem) {
    self.files = files
  }

  func document(at path: String) -> FileDocument {
    let name = Name(path)
    return documents.withLock { documents in
      if let document = documents[name]?.document { return document }
      let document = FileDocument(path: path, files: files, queue: queue) { [weak self] in self?.forget(name) }
      documents[name] = Entry(document: document)
      return document
    }
  }

  private func forget(_ name: Name) {
    documents.withLock { documents in
      if let entry = documents[name], entry.document == nil { documents[name] = nil }
    }
  }
}
