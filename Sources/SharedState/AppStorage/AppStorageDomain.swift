import Dispatch
import Foundation
import Synchronization

/// The user defaults behind some `UserDefaults` objects: reads and writes them, and plays back what others change.
///
/// On Linux a change reaches other processes when the user defaults are synchronised with their file, so that follows
/// each change: at once for the first, then at most once a second. The file is watched for what others write.
final class AppStorageDomain: Sendable {
  /// Takes the value that is now stored; `nil` when there is none.
  typealias Observer = @Sendable (PropertyListValue?) -> Void

  private struct Observation {
    let name: Name
    let type: ObjectIdentifier
    let observer: Observer
  }

  private struct State {
    /// What was stored under each name when it was last looked at.
    var seen: [Name: PropertyListValue?] = [:]
    /// The types of value that the present value could not be read as.
    var unreadableAs: [Name: Set<ObjectIdentifier>] = [:]
    var observations: [UInt64: Observation] = [:]
    var observationsEver: UInt64 = 0
    var names = NamesByType()
    var watch: SharedSubscription?
    var isCheckQueued = false
  }

  // `nonisolated(unsafe)` is right because `UserDefaults` is documented to be safe to use from any thread.
  private nonisolated(unsafe) let store: UserDefaults
  /// Makes one step of setting a value and remembering it, and of synchronising, file access included: corelibs loses a
  /// value that is set while another thread synchronises. Recursive, because user defaults may tell us of a value, or
  /// be asked for one by a subclass, while it is set.
  private let access = NSRecursiveLock()
  private let path: String?
  private let queue: DispatchQueue
  private let writer: ThrottledWriter
  private let state = Mutex(State())

  /// - Parameters:
  ///   - store: Where values are read and written.
  ///   - path: Its file; `nil` when it has none.
  init(store: UserDefaults, path: String?) {
    self.store = store
    self.path = path
    queue = DispatchQueue(label: "SharedState.AppStorageDomain")
    writer = ThrottledWriter(interval: .seconds(1), queue: queue) {}
  }

  // MARK: Reading and writing

  /// What is stored now, by whomever.
  func read(_ name: Name) -> PropertyListValue? {
    if path != nil { _ = synchronize() }
    access.lock()
    defer { access.unlock() }
    let value = present(name)
    state.withLock { $0.seen[name] = .some(value) }
    return value
  }

  /// Whether the newest value that was handed over is of this type; else it is not to be replaced without being asked.
  func didDecode(_ name: Name, as type: ObjectIdentifier, isReadable: Bool) {
    state.withLock { state in
      if isReadable {
        state.unreadableAs[name]?.remove(type)
      } else {
        state.unreadableAs[name, default: []].insert(type)
      }
    }
  }

  /// Stores an object, or removes what is stored when it is `nil`.
  ///
  /// - Parameters:
  ///   - type: The type of the value, whose own observers are not told.
  ///   - context: What somebody asked for is written at once, and whatever is stored now is replaced only on request.
  func save(
    _ object: Any?,
    _ name: Name,
    as type: ObjectIdentifier,
    context: SaveContext,
    continuation: SaveContinuation
  ) {
    let value = object.map(PropertyListValue.init)
    access.lock()
    let others = state.withLock { state -> [Observation]? in
      guard context == .replacingUnreadable || state.unreadableAs[name]?.contains(type) != true else { return nil }
      state.unreadableAs[name]?.remove(type)
      state.seen[name] = .some(value)
      return state.observations.values.filter { $0.name == name && $0.type != type }
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

  /// Stores an object, unless something is stored by now.
  ///
  /// - Parameter type: The type of the value, whose own observers are not told.
  /// - Returns: What somebody else has stored meanwhile.
  func storeDefault(_ object: Any, _ name: Name, as type: ObjectIdentifier) -> PropertyListValue? {
    let value = PropertyListValue(object)
    access.lock()
    let stored = present(name)
    let others = state.withLock { state in
      state.seen[name] = .some(stored ?? value)
      return state.observations.values.filter { $0.name == name && $0.type != type }
    }
    if stored == nil { store.set(object, forKey: name.text) }
    access.unlock()
    if let stored { return stored }
    for other in others { other.observer(value) }
    // Urgent, because what another process stores before it is written is lost. A failure is told by the next save: the
    // value is what it would be anyway.
    write(name, isUrgent: true, continuation: SaveContinuation { _ in })
    return nil
  }

  /// Brings what was set to the file, if there is one.
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

  /// Tells the observer of every change that is not a save of its own type.
  func observe(_ name: Name, as type: ObjectIdentifier, _ observer: @escaping Observer) -> SharedSubscription {
    let (number, isFirst) = state.withLock { state in
      state.observationsEver += 1
      state.observations[state.observationsEver] = Observation(name: name, type: type, observer: observer)
      return (state.observationsEver, state.observations.count == 1)
    }
    if isFirst { startWatching() }
    look(at: name)
    // Something may have happened since the value was loaded.
    check([name])
    return SharedSubscription { [self] in
      let watch = state.withLock { state -> SharedSubscription? in
        state.observations[number] = nil
        guard state.observations.isEmpty else { return nil }
        defer { state.watch = nil }
        return state.watch
      }
      watch?.cancel()
    }
  }

  /// Remembers what is stored, unless it was looked at before: what is not known cannot be told from a change.
  private func look(at name: Name) {
    guard state.withLock({ $0.seen[name] == nil }) else { return }
    access.lock()
    defer { access.unlock() }
    let value = present(name)
    state.withLock { state in
      if state.seen[name] == nil { state.seen[name] = .some(value) }
    }
  }

  /// Tells the observers of those names whose value is another one than before.
  func check(_ names: [Name]) {
    for name in Set(names) {
      access.lock()
      var value = present(name)
      var told = state.withLock { state -> [Observation] in
        guard let seen = state.seen[name], seen != value else { return [] }
        state.seen[name] = .some(value)
        return state.observations.values.filter { $0.name == name }
      }
      access.unlock()
      while !told.isEmpty {
        for observation in told { observation.observer(value) }
        // Another thread may have told them of something newer, which this one then took back.
        told = state.withLock { state in
          guard let newest = state.seen[name], newest != value else { return [] }
          value = newest
          return state.observations.values.filter { $0.name == name }
        }
      }
    }
  }

  private func startWatching() {
    #if os(Linux)
      guard let path else { return }
      // Without a watch, changes by other processes are seen when something is loaded.
      let watch = try? Inotify.shared.watch(path) { [weak self] in self?.setNeedsCheck() }
      state.withLock { $0.watch = watch }
    #endif
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
      check(state.withLock { $0.observations.values.map(\.name) })
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
