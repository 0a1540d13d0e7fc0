import Dispatch
import Foundation
import Synchronization

/// The user defaults behind some `UserDefaults` objects: reads and writes them, and reports changes from elsewhere.
///
/// On Linux a change reaches other processes when the user defaults are synchronised with their file. So each change is
/// followed by a synchronisation: the first immediately, later ones at most once a second. The file is watched for
/// changes from other processes.
final class AppStorageDomain: Sendable {
  /// Takes the value that is now stored; `nil` when there is none.
  typealias Observer = @Sendable (PropertyListValue?) -> Void

  private struct Observation {
    let name: Name
    let author: KeyAuthor
    let observer: Observer
    let onWatchError: @Sendable ((any Error)?) -> Void
  }

  private struct State {
    /// The value under each name when it was last checked.
    var seen: [Name: PropertyListValue?] = [:]
    /// The types that the present value could not be read as.
    var unreadableAs: [Name: Set<ObjectIdentifier>] = [:]
    var observations = Observers<Observation>()
    /// Why the file is not watched.
    var watchError: (any Error)?
    var names = NamesByType()
    var isCheckQueued = false
  }

  // `nonisolated(unsafe)` is right because `UserDefaults` is documented to be safe to use from any thread.
  private nonisolated(unsafe) let store: UserDefaults
  /// Held while a value is set and remembered, and while user defaults are synchronised, file access included: corelibs
  /// loses a value that is set while another thread synchronises. Recursive, because user defaults may announce a value
  /// while it is set, and a subclass may ask for one.
  private let access = NSRecursiveLock()
  private let path: String?
  private let queue: DispatchQueue
  private let writer: ThrottledWriter
  private let state = Mutex(State())

  /// - Parameters:
  ///   - store: The user defaults that hold the values.
  ///   - path: Its file; `nil` when it has none.
  init(store: UserDefaults, path: String?) {
    self.store = store
    self.path = path
    queue = DispatchQueue(label: "SharedState.AppStorageDomain")
    writer = ThrottledWriter(interval: .seconds(1), queue: queue) {}
  }

  // MARK: Reading and writing

  /// The value that is stored now, wherever it was stored.
  func read(_ name: Name) -> PropertyListValue? {
    if path != nil { _ = synchronize() }
    access.lock()
    defer { access.unlock() }
    let value = present(name)
    state.withLock { $0.seen[name] = .some(value) }
    return value
  }

  /// Notes whether the newest value is of this type. If not, it is replaced only on request.
  func didDecode(_ name: Name, as type: ObjectIdentifier, isReadable: Bool) {
    state.withLock { state in
      if isReadable {
        state.unreadableAs[name]?.remove(type)
      } else {
        state.unreadableAs[name, default: []].insert(type)
      }
    }
  }

  /// Stores an object, or removes the stored one when it is `nil`.
  ///
  /// - Parameters:
  ///   - type: The type of the value.
  ///   - author: The key. Its own observer is not notified.
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
    let others = state.withLock { state -> [Observation]? in
      guard context == .replacingUnreadable || state.unreadableAs[name]?.contains(type) != true else { return nil }
      state.unreadableAs[name]?.remove(type)
      state.seen[name] = .some(value)
      return state.observations.all.filter { $0.name == name && $0.author != author }
    }
    if others != nil {
      if let object { store.set(object, forKey: name.text) } else { store.removeObject(forKey: name.text) }
    }
    access.unlock()
    guard let others else {
      return continuation.resume(throwing: AppStorageError.wouldReplaceUnreadable(key: name.text))
    }
    for other in others { other.observer(value) }
    write(name, isUrgent: context != .didSet, continuation: continuation)
  }

  /// Stores an object, unless another one is stored by now.
  ///
  /// - Parameter author: The key. Its own observer is not notified.
  /// - Returns: The value that was stored elsewhere meanwhile.
  func storeDefault(_ object: Any, _ name: Name, by author: KeyAuthor) -> PropertyListValue? {
    let value = PropertyListValue(object)
    access.lock()
    let stored = present(name)
    let others = state.withLock { state in
      state.seen[name] = .some(stored ?? value)
      return state.observations.all.filter { $0.name == name && $0.author != author }
    }
    if stored == nil { store.set(object, forKey: name.text) }
    access.unlock()
    if let stored { return stored }
    for other in others { other.observer(value) }
    // Urgent, because a value that another process stores before the write is lost. The next save reports a failure,
    // because the value is the default in any case.
    write(name, isUrgent: true, continuation: SaveContinuation { _ in })
    return nil
  }

  /// Writes the changes to the file, if there is one.
  private func write(_ name: Name, isUrgent: Bool, continuation: SaveContinuation) {
    guard path != nil else { return continuation.resume() }
    writer.submit(isUrgent: isUrgent, continuation: continuation) { [self] in
      guard synchronize() else { throw AppStorageError.notWritten(key: name.text) }
    }
  }

  /// Remembers that a name is used with a type of value; see ``NamesByType/insert(_:as:)``.
  func didUse(_ name: Name, as type: Any.Type) -> String? {
    state.withLock { $0.names.insert(name, as: type) }
  }

  // MARK: Watching

  /// Notifies the observer of every change that is not a save of its own key.
  ///
  /// - Parameter onWatchError: Takes the reason why changes by other processes are not seen; `nil` when they are again.
  func observe(
    _ name: Name,
    by author: KeyAuthor,
    _ observer: @escaping Observer,
    onWatchError: @escaping @Sendable ((any Error)?) -> Void
  ) -> SharedSubscription {
    let observation = Observation(name: name, author: author, observer: observer, onWatchError: onWatchError)
    let (number, isFirst) = state.withLock { $0.observations.insert(observation) }
    if isFirst {
      startWatching()
    } else if let watchError = state.withLock({ $0.watchError }) {
      onWatchError(watchError)
    }
    look(at: name)
    // The value may have changed since it was loaded.
    check([name])
    return SharedSubscription { [self] in
      let watch = state.withLock { state in
        let watch = state.observations.remove(number)
        if state.observations.all.isEmpty { state.watchError = nil }
        return watch
      }
      watch?.cancel()
    }
  }

  /// Remembers the stored value, unless one is remembered already: a change is recognised by comparison with it.
  private func look(at name: Name) {
    guard state.withLock({ $0.seen[name] == nil }) else { return }
    access.lock()
    defer { access.unlock() }
    let value = present(name)
    state.withLock { state in
      if state.seen[name] == nil { state.seen[name] = .some(value) }
    }
  }

  /// Notifies the observers of the names whose value has changed.
  func check(_ names: [Name]) {
    for name in Set(names) {
      access.lock()
      var value = present(name)
      var notified = state.withLock { state -> [Observation] in
        guard let seen = state.seen[name], seen != value else { return [] }
        state.seen[name] = .some(value)
        return state.observations.all.filter { $0.name == name }
      }
      access.unlock()
      while !notified.isEmpty {
        for observation in notified { observation.observer(value) }
        // Another thread may have delivered a newer value first, which this thread's value has replaced.
        notified = state.withLock { state in
          guard let newest = state.seen[name], newest != value else { return [] }
          value = newest
          return state.observations.all.filter { $0.name == name }
        }
      }
    }
  }

  private func startWatching() {
    guard let path else { return }
    let look: @Sendable () -> Void = { [weak self] in self?.setNeedsCheck() }
    let watch = LastingWatch.start(every: .seconds(1), on: queue) { onEnd in
      try Inotify.shared.watch(path, onChange: look, onEnd: onEnd)
    } look: {
      look()
    } onError: { [weak self] error in
      self?.report(watchError: error)
    }
    state.withLock { $0.observations.watch = watch }
  }

  private func report(watchError error: (any Error)?) {
    let observations = state.withLock { state in
      state.watchError = error
      return state.observations.all
    }
    for observation in observations { observation.onWatchError(error) }
  }

  private func setNeedsCheck() {
    let isFirst = state.withLock { state in
      defer { state.isCheckQueued = true }
      return !state.isCheckQueued
    }
    guard isFirst else { return }
    queue.async { [weak self] in
      guard let self else { return }
      state.withLock { $0.isCheckQueued = false }
      _ = synchronize()
      check(state.withLock { $0.observations.all.map(\.name) })
    }
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
