import Dispatch
import Foundation
import Synchronization

/// One shared file: reads it, writes it when its throttle allows, and reports changes by other programs.
///
/// Shares of one file with several types of value have one document, which passes on each other's changes.
final class FileDocument: Sendable {
  /// Takes the new content of the file; `nil` when it was deleted.
  typealias Observer = @Sendable (Result<Data?, any Error>) -> Void

  private struct Observation {
    let author: KeyAuthor
    let observer: Observer
    let onWatchError: @Sendable ((any Error)?) -> Void
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
    /// The types of value that the newest content could not be decoded as.
    var unreadableAs: Set<ObjectIdentifier> = []
    var observers = Observers<Observation>()
    /// Why the file is not watched.
    var watchError: (any Error)?
    /// Counts the changes that were submitted here.
    var changes: UInt64 = 0
    /// Whether a change crossed with a report, so that the file has to be reported once more.
    var needsReplay = false
    var isCheckQueued = false
    /// Whether a check of the file was postponed because of a write.
    var isCheckPostponed = false
  }

  let path: String
  private let files: any FileSystem
  /// Checks the file, and performs the writes that no caller waits for. Tests wait for it.
  let queue = DispatchQueue(label: "SharedState.FileDocument")
  private let writer: ThrottledWriter
  private let state = Mutex(State())
  private let onDeinit: @Sendable () -> Void

  init(path: String, files: any FileSystem, onDeinit: @escaping @Sendable () -> Void) {
    self.path = path
    self.files = files
    self.onDeinit = onDeinit
    let owner = Owner()
    writer = ThrottledWriter(interval: files.saveInterval, queue: queue) { owner.document?.didBecomeIdle() }
    owner.document = self
  }

  deinit {
    onDeinit()
  }

  // MARK: Reading

  /// The content of the file now; `nil` when there is none.
  func read() throws -> Data? {
    do {
      let content = try files.read(path)
      remember(Self.content(of: content))
      return content?.data
    } catch {
      remember(.unreadable)
      throw error
    }
  }

  /// Reads the file, after the pending change has been written to it.
  func load(_ completion: @escaping @Sendable (Result<Data?, any Error>) -> Void) {
    writer.whenIdle { completion(Result { try self.read() }) }
  }

  /// Notes whether the newest content is a document of this type. If not, it is replaced only on request.
  func didDecode(as type: ObjectIdentifier, isReadable: Bool) {
    state.withLock { state in
      if isReadable { state.unreadableAs.remove(type) } else { state.unreadableAs.insert(type) }
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
    let isHeld = state.withLock { state in
      let isUnread = state.content == .unreadable || state.unreadableAs.contains(type)
      if isUnread, context != .replacingUnreadable { return true }
      state.changes += 1
      state.unreadableAs.remove(type)
      return false
    }
    if isHeld { return continuation.resume(throwing: FileStorageError.wouldReplaceUnreadable(path: path)) }
    writer.submit(isUrgent: context != .didSet, continuation: continuation) {
      do {
        try self.write(encode(), by: author, replacesAnything: context == .replacingUnreadable)
      } catch {
        // The file was not checked meanwhile.
        self.setNeedsCheck()
        throw error
      }
    }
  }

  private func write(_ data: Data?, by author: KeyAuthor, replacesAnything: Bool) throws {
    if !replacesAnything { try compare() }
    // Counted here as well, so that a check that began before this write does not mistake it for another program's.
    state.withLock { $0.changes += 1 }
    let content: FileContent?
    if let data {
      content = FileContent(data: data, stamp: try files.write(data, to: path))
    } else {
      if try files.stamp(of: path) != nil { try files.remove(path) }
      content = nil
    }
    let others = state.withLock { state in
      state.content = Self.content(of: content)
      return state.observers.all.filter { $0.author != author }
    }
    for other in others { other.observer(.success(data)) }
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
    if state.withLock({ $0.isCheckPostponed }) { setNeedsCheck() }
  }

  // MARK: Watching

  /// Notifies the observer of every change that is not a save of its own key, from any thread, one after the other.
  ///
  /// - Parameter onWatchError: Takes the reason why the file is not watched; `nil` when it is again.
  func observe(
    by author: KeyAuthor,
    _ observer: @escaping Observer,
    onWatchError: @escaping @Sendable ((any Error)?) -> Void = { _ in }
  ) -> SharedSubscription {
    let observation = Observation(author: author, observer: observer, onWatchError: onWatchError)
    let (number, isFirst) = state.withLock { $0.observers.insert(observation) }
    if isFirst {
      startWatching()
    } else if let watchError = state.withLock({ $0.watchError }) {
      onWatchError(watchError)
    }
    // The file may have changed since the value was loaded.
    setNeedsCheck()
    return SharedSubscription { [weak self] in
      let watch = self?.state.withLock { state in
        let watch = state.observers.remove(number)
        if state.observers.all.isEmpty { state.watchError = nil }
        return watch
      }
      watch?.cancel()
    }
  }

  private func startWatching() {
    let look: @Sendable () -> Void = { [weak self] in self?.setNeedsCheck() }
    let watch = LastingWatch.start(every: files.watchInterval, on: queue) { [files, path] onEnd in
      try files.watch(path, onChange: look, onEnd: onEnd)
    } look: {
      look()
    } onError: { [weak self] error in
      self?.report(watchError: error)
    }
    state.withLock { $0.observers.watch = watch }
  }

  private func report(watchError error: (any Error)?) {
    let observations = state.withLock { state in
      state.watchError = error
      return state.observers.all
    }
    for observation in observations { observation.onWatchError(error) }
  }

  /// Checks the file soon, once for any number of requests.
  private func setNeedsCheck() {
    let isFirst = state.withLock { state in
      defer { state.isCheckQueued = true }
      return !state.isCheckQueued
    }
    guard isFirst else { return }
    queue.async { [weak self] in
      self?.state.withLock { $0.isCheckQueued = false }
      self?.check()
    }
  }

  /// Notifies the observers when the content of the file has changed.
  ///
  /// Called on the queue only, so that observers see changes in order. A change that is pending here wins over other
  /// programs' changes, because it is about to replace them. The file is checked once it is written.
  private func check() {
    let (before, changes, isForced) = state.withLock { state in
      state.isCheckPostponed = true
      return (state.content, state.changes, state.needsReplay)
    }
    // Checked after the flag is set, so that this thread or the writing one sees the other.
    guard writer.isIdle else { return }
    state.withLock { $0.isCheckPostponed = false }
    if !isForced, case .present(let stamp, _) = before, let now = try? files.stamp(of: path), stamp == now { return }
    let result = Result { try files.read(path) }
    let content: Content =
      switch result {
      case .success(let content): Self.content(of: content)
      case .failure: .unreadable
      }
    let isWanted = state.withLock { state -> Bool? in
      // Saved or checked elsewhere meanwhile, so the content may be old.
      guard state.changes == changes, state.content == before else { return nil }
      state.content = content
      state.needsReplay = false
      return isForced || !Self.isSame(before, content)
    }
    guard let isWanted else { return setNeedsCheck() }
    guard isWanted else { return }
    deliver(result.map { $0?.data })
    let hasCrossed = state.withLock { state in
      if state.changes != changes { state.needsReplay = true }
      return state.needsReplay
    }
    if hasCrossed { setNeedsCheck() }
  }

  private func deliver(_ result: Result<Data?, any Error>) {
    for observation in state.withLock({ $0.observers.all }) { observation.observer(result) }
  }

  /// Notes what was read. If it is new, the observers are notified: otherwise only the reader would see it, and a save
  /// of another share would replace it unseen.
  private func remember(_ content: Content) {
    let isNews = state.withLock { state in
      defer { state.content = content }
      guard state.content != .unknown, state.observers.all.count > 1, !Self.isSame(state.content, content) else {
        return false
      }
      state.needsReplay = true
      return true
    }
    if isNews { setNeedsCheck() }
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

/// Lets the writer of a document reach it, without keeping it alive.
private final class Owner: @unchecked Sendable {
  // `@unchecked Sendable` is right because the property is set once, before any other thread has the document, and weak
  // references may be read from any thread.
  weak var document: FileDocument?
}

/// Finds the one document of each file.
final class FileDocuments: Sendable {
  private struct Entry {
    weak var document: FileDocument?
  }

  private let files: any FileSystem
  private let documents = Mutex<[Name: Entry]>([:])

  init(files: any FileSystem) {
    self.files = files
  }

  func document(at path: String) -> FileDocument {
    let name = Name(path)
    return documents.withLock { documents in
      if let document = documents[name]?.document { return document }
      let document = FileDocument(path: path, files: files) { [weak self] in self?.forget(name) }
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
