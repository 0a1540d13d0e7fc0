/// The box: one piece of shared state, in memory of its own.
package final class ValueReference<Value>: Reference, @unchecked Sendable {
  // `@unchecked Sendable` is right for the reason given at `Reference`: the value behind `pointer` is only touched with
  // `lock` held. Values that are not `Sendable` stay in the isolation they came from, because `Shared` is `Sendable`
  // only when its value is.

  /// Where the value lives. Constant, so that derived references may point into it.
  let pointer: UnsafeMutablePointer<Value>

  package init(_ value: Value, persistence: (any ReferencePersistence)? = nil) {
    pointer = .allocate(capacity: 1)
    pointer.initialize(to: value)
    super.init(persistence: persistence)
  }

  deinit {
    pointer.deinitialize(count: 1)
    pointer.deallocate()
  }

  var place: Place<Value> {
    Place(reference: self, pointer: pointer, accessor: nil)
  }

  /// The value, without registering an access with Observation.
  package var value: Value {
    lock.lock()
    defer { lock.unlock() }
    return pointer.pointee
  }

  /// The value and the number of local mutations that made it; the next one is told to the persistence.
  package func snapshot() -> (value: Value, stamp: UInt64) {
    lock.lock()
    defer { lock.unlock() }
    watchNextMutation()
    return (pointer.pointee, stamp)
  }

  /// The changes so far.
  package var versions: Versions {
    lock.lock()
    defer { lock.unlock() }
    return Versions(local: stamp, remote: remoteChanges)
  }

  /// Replaces the value by one that came from elsewhere.
  ///
  /// - Parameter isWanted: Decides with what has happened up to now. It is called with the lock held, so it takes no
  ///   lock and calls nobody.
  /// - Returns: Whether the value was replaced.
  package func replace(with value: Value, if isWanted: (Versions) -> Bool = { _ in true }) -> Bool {
    var value = value
    lock.lock()
    guard isWanted(Versions(local: stamp, remote: remoteChanges)) else {
      lock.unlock()
      return false
    }
    swap(&pointer.pointee, &value)
    remoteChanges &+= 1
    lock.unlock()
    // What was replaced is released here, after the lock, because its deinitialiser is somebody else's code.
    withExtendedLifetime(value) {}
    announceRemoteChange()
    return true
  }
}

/// How many changes a reference has seen.
package struct Versions: Hashable, Sendable {
  /// Those made in this process, through `withLock`.
  package let local: UInt64
  /// Those that came from elsewhere.
  package let remote: UInt64
}
