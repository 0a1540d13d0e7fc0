import Synchronization

/// A ``Dependency`` of any value.
protocol DependencyHolding {
  /// The values in force when the wrapper was created.
  var initialValues: DependencyValues { get }
}

/// Remembers the values that objects were created with, for
/// ``withDependencies(from:operation:fileID:filePath:line:column:)``.
///
/// Objects are held weakly. Entries of released objects are removed now and then, so that there are never more of them
/// than of living objects, apart from a small number.
final class DependencyObjects: Sendable {
  private struct Entry: @unchecked Sendable {
    // `@unchecked Sendable` is right because this reference is only compared, and never used.
    weak var object: AnyObject?
    let values: DependencyValues
    /// The number of registrations up to this one.
    let count: UInt64
  }

  private struct State {
    var entries: [ObjectIdentifier: Entry] = [:]
    var sweepCount = 32
  }

  private let state = Mutex(State())
  private let registrations = Atomic<UInt64>(0)

  static let shared = DependencyObjects()

  /// The number of registrations so far.
  var registrationCount: UInt64 { registrations.load(ordering: .relaxed) }

  /// Remembers the values that an operation ran with, if its result is an object.
  ///
  /// An object that was registered meanwhile keeps those values, because an inner operation has made it.
  /// - Parameter start: The ``registrationCount`` when the operation began.
  func register<Result>(_ result: Result, values: DependencyValues, since start: UInt64) {
    // The type is checked, because on Linux every value converts to an object.
    guard Result.self is AnyClass || type(of: result) is AnyClass else { return }
    let object = result as AnyObject
    let id = ObjectIdentifier(object)
    let count = registrations.add(1, ordering: .relaxed).newValue
    let entry = Entry(object: object, values: values, count: count)
    // Removed entries are released after the lock, because deinitialisers of values are foreign code.
    _ = state.withLock { state in
      if let present = state.entries[id], present.object === object, present.count > start { return [Entry]() }
      var removed = [state.entries.updateValue(entry, forKey: id)].compactMap(\.self)
      if state.entries.count >= state.sweepCount {
        let gone = state.entries.filter { $0.value.object == nil }
        for id in gone.keys {
          state.entries[id] = nil
        }
        removed += gone.values
        state.sweepCount = max(32, 2 * state.entries.count)
      }
      return removed
    }
  }

  /// The values that an object was created with: those of one of its ``Dependency`` wrappers, or of its registration.
  func values(of object: AnyObject) -> DependencyValues? {
    let mirrors = sequence(first: Mirror(reflecting: object), next: \.superclassMirror)
    for mirror in mirrors {
      for case let holder as any DependencyHolding in mirror.children.lazy.map(\.value) {
        return holder.initialValues
      }
    }
    let entry = state.withLock { $0.entries[ObjectIdentifier(object)] }
    guard let entry, entry.object === object else { return nil }
    return entry.values
  }

  /// How many objects are remembered, including released ones.
  var count: Int {
    state.withLock { $0.entries.count }
  }
}
