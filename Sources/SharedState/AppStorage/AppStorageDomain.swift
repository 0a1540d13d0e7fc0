import Dispatch
import Foundation
import Synchronization

/// The user defaults behind some `UserDefaults` objects: reads and writes them, and reports changes from elsewhere.
///
/// On Linux a change reaches other processes when the user defaults are synchronised with their file. So each change is
/// followed by a synchronisation: the first immediately, later ones at most once a second. The file is watched for
/// changes from other processes.
final class AppStorageDomain: Sendable {
  /// Takes the value that is now stored, and its edition; `nil` when there is none.
  typealias Observer = @Sendable (PropertyListValue?, _ edition: UInt64) -> Void

  private struct Observation {
    let name: Name
    let author: KeyAuthor
    let observer: Observer
    /// The newest edition that it was notified of, or need not be.
    var known: UInt64
    /// Whether a thread is notifying it. That thread continues until the newest edition is known.
    var isBeingNotified = false
  }

  /// A value that was found or stored under a name.
  private struct Stored {
    var value: PropertyListValue?
    /// Numbers the values that were found or stored.
    var edition: UInt64 = 1
  }

  private struct State {
    /// The newest value of each name.
    var stored: [Name: Stored] = [:]
    /// For each name and type of value, the newest edition that was decoded as one, and whether that could be read.
    var decoded: [Name: [ObjectIdentifier: (edition: UInt64, isReadable: Bool)]] = [:]
    var observations = Observers<Observation>()
    var names = NamesByType()

    /// A name has this value now.
    ///
    /// - Returns: The edition, and whether observers do not know it yet.
    mutating func found(_ value: PropertyListValue?, _ name: Name) -> (edition: UInt64, isNew: Bool) {
      guard let before = stored[name] else {
        stored[name] = Stored(value: value)
        return (1, false)
      }
      guard before.value != value else { return (before.edition, false) }
      return (store(value, name), true)
    }

    /// A name gets a new value. Returns its edition.
    mutating func store(_ value: PropertyListValue?, _ name: Name) -> UInt64 {
      let edition = (stored[name]?.edition ?? 0) + 1
      stored[name] = Stored(value: value, edition: edition)
      return edition
    }

    /// An author has stored an edition. Its observers are not notified if its box shows that.
    mutating func didStore(_ edition: UInt64, _ name: Name, by author: KeyAuthor) {
      guard author.store(edition, shown: Receipt.shownBeforeSave) else { return }
      let own = observations.numbered.filter { $1.name == name && $1.author === author }.map(\.key)
      for number in own { observations.update(number) { $0.known = edition } }
    }

    /// Takes an observer that does not know the newest value of the name; `nil` when each does, or soon will.
    mutating func beginNotifying(_ name: Name) -> (number: UInt64, notify: Observer, stored: Stored)? {
      guard let stored = stored[name] else { return nil }
      let next = observations.numbered.first { _, observation in
        observation.name == name && !observation.isBeingNotified
          && max(observation.known, observation.author.seen) < stored.edition
      }
      guard let (number, observation) = next else { return nil }
      observations.update(number) {
        $0.known = stored.edition
        $0.isBeingNotified = true
      }
      return (number, observation.observer, stored)
    }
  }

  // `nonisolated(unsafe)` is right because `UserDefaults` is documented to be safe to use from any thread.
  private nonisolated(unsafe) let store: UserDefaults
  /// Held while a value is set and remembered, and while user defaults are synchronised, file access included: corelibs
  /// loses a value that is set while another thread synchronises. Recursive, because user defaults may announce a value
  /// while it is set, and a subclass may ask for one.
  private let access = NSRecursiveLock()
  /// Whether the thread that holds ``access`` is storing a value.
  // `nonisolated(unsafe)` is right because it is only touched with `access` held.
  private nonisolated(unsafe) var isStoring = false
  private let queue: DispatchQueue
  private let writer: ThrottledWriter
  /// `nil` when the user defaults have no file.
  private let watch: FileWatch?
  private let state = Mutex(State())

  /// How many observers one thread notifies.
  private static let notificationRounds = 64

  /// - Parameters:
  ///   - store: The user defaults that hold the values.
  ///   - path: Its file; `nil` when it has none.
  init(store: UserDefaults, path: String?) {
    self.store = store
    queue = DispatchQueue(label: "SharedState.AppStorageDomain")
    writer = ThrottledWriter(interval: .seconds(1), queue: queue) {}
    let domain = WeakOwner<AppStorageDomain>()
    watch = path.map { [queue] path in
      FileWatch(every: .seconds(1), on: queue) { onChange, onEnd in
        try Inotify.shared.watch(path, onChange: onChange, onEnd: onEnd)
      } check: {
        domain.owner?.checkAll()
      }
    }
    domain.owner = self
  }

  // MARK: Reading and writing

  /// The value that is stored now, wherever it was stored, and its edition.
  func read(_ name: Name) -> (value: PropertyListValue?, edition: UInt64) {
    if watch != nil { _ = synchronize() }
    access.lock()
    let value = present(name)
    let (edition, isNew) = state.withLock { $0.found(value, name) }
    access.unlock()
    // Otherwise only the reader would see it.
    if isNew { notifySoon(name) }
    return (value, edition)
  }

  /// Notes whether an edition is of this type. If the newest one is not, it is replaced only on request.
  func didDecode(_ name: Name, as type: ObjectIdentifier, _ edition: UInt64, isReadable: Bool) {
    state.withLock { state in
      guard edition >= state.decoded[name]?[type]?.edition ?? 0 else { return }
      state.decoded[name, default: [:]][type] = (edition, isReadable)
    }
  }

  /// Stores an object, or removes the stored one when it is `nil`.
  ///
  /// - Parameters:
  ///   - type: The type of the value.
  ///   - author: The key. Its own observers are not notified if its box shows the value.
  ///   - context: An explicit save is written immediately. A value that cannot be read is replaced only on request.
  func save(
    _ object: Any?,
    _ name: Name,
    as type: ObjectIdentifier,
    by author: KeyAuthor,
    context: SaveContext,
    continuation: SaveContinuation
  ) {
    let value = object.map(PropertyListValue.init)
    access.lock()
    let isAllowed = state.withLock { state in
      guard context == .replacingUnreadable || state.decoded[name]?[type]?.isReadable != false else { return false }
      let edition = state.store(value, name)
      state.decoded[name, default: [:]][type] = (edition, true)
      state.didStore(edition, name, by: author)
      return true
    }
    if isAllowed { set(object, name) }
    access.unlock()
    guard isAllowed else {
      return continuation.resume(throwing: AppStorageError.wouldReplaceUnreadable(key: name.text))
    }
    notify(name)
    write(name, isUrgent: context != .didSet, continuation: continuation)
  }

  /// Stores an object, unless another one is stored by now.
  ///
  /// - Parameter author: The key. Its own observers are not notified if the default is stored.
  /// - Returns: The value that was stored elsewhere meanwhile, or `nil`; and the edition.
  func storeDefault(
    _ object: Any,
    _ name: Name,
    by author: KeyAuthor
  ) -> (value: PropertyListValue?, edition: UInt64) {
    access.lock()
    let stored = present(name)
    let edition = state.withLock { state in
      let (edition, _) = state.found(stored ?? PropertyListValue(object), name)
      if stored == nil { state.didStore(edition, name, by: author) }
      return edition
    }
    if stored == nil { set(object, name) }
    access.unlock()
    notify(name)
    if let stored { return (stored, edition) }
    // Urgent, because a value that another process stores before the write is lost. The next save reports a failure,
    // because the value is the default in any case.
    write(name, isUrgent: true, continuation: SaveContinuation { _ in })
    return (nil, edition)
  }

  /// Called with ``access`` held.
  private func set(_ object: Any?, _ name: Name) {
    isStoring = true
    if let object { store.set(object, forKey: name.text) } else { store.removeObject(forKey: name.text) }
    isStoring = false
  }

  /// Writes the changes to the file, if there is one.
  private func write(_ name: Name, isUrgent: Bool, continuation: SaveContinuation) {
    guard watch != nil else { return continuation.resume() }
    writer.submit(isUrgent: isUrgent, continuation: continuation) { [self] in
      guard synchronize() else { throw AppStorageError.notWritten(key: name.text) }
    }
  }

  /// Remembers that a name is used with a type of value; see ``NamesByType/insert(_:as:)``.
  func didUse(_ name: Name, as type: Any.Type) -> String? {
    state.withLock { $0.names.insert(name, as: type) }
  }

  // MARK: Watching

  /// Notifies the observer of every change that its key has neither made nor shown.
  ///
  /// - Parameter onWatchError: Takes the reason why changes by other processes are not seen; `nil` when they are again.
  func observe(
    _ name: Name,
    by author: KeyAuthor,
    _ observer: @escaping Observer,
    onWatchError: @escaping FileWatch.ErrorObserver
  ) -> SharedSubscription {
    access.lock()
    let value = present(name)
    let number = state.withLock { state in
      let known = author.seen > 0 ? author.seen : state.found(value, name).edition
      return state.observations.insert(Observation(name: name, author: author, observer: observer, known: known))
    }
    access.unlock()
    let watching = watch?.observe(onError: onWatchError)
    // The value may have changed since it was loaded, or before the watch began.
    check([name])
    notify(name)
    return SharedSubscription { [self] in
      state.withLock { $0.observations.remove(number) }
      watching?.cancel()
    }
  }

  /// Notifies the observers of the names whose value has changed.
  func check(_ names: [Name]) {
    for name in Set(names) {
      access.lock()
      let value = present(name)
      // Of a name that nobody has used, no value is kept.
      let isNew = state.withLock { $0.stored[name] != nil && $0.found(value, name).isNew }
      // User defaults may announce a value while it is set.
      let isStoring = isStoring
      access.unlock()
      guard isNew else { continue }
      if isStoring { notifySoon(name) } else { notify(name) }
    }
  }

  /// Reads the file, and notifies the observers of what has changed in it.
  private func checkAll() {
    _ = synchronize()
    check(state.withLock { $0.observations.all.map(\.name) })
  }

  /// Notifies the observers that do not know the newest value. Each is notified by one thread at a time.
  private func notify(_ name: Name) {
    for _ in 0..<Self.notificationRounds {
      guard let next = state.withLock({ $0.beginNotifying(name) }) else { return }
      next.notify(next.stored.value, next.stored.edition)
      state.withLock { $0.observations.update(next.number) { $0.isBeingNotified = false } }
    }
    // One caller's thread is not kept busy with the changes of others.
    notifySoon(name)
  }

  private func notifySoon(_ name: Name) {
    queue.async { self.notify(name) }
  }

  private func synchronize() -> Bool {
    access.lock()
    defer { access.unlock() }
    return store.synchronize()
  }

  private func present(_ name: Name) -> PropertyListValue? {
    store.object(forKey: name.text).map(PropertyListValue.init)
  }
}
