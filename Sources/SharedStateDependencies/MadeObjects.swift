import Synchronization

/// The dependencies of the objects that operations with overrides have returned, for `withDependencies(from:)`.
///
/// An object that is gone takes up a place until there are twice as many as were alive when places were last freed.
enum MadeObjects {
  /// `@unchecked`, because nothing uses the object: only whether it is gone is asked, which any thread may.
  private struct Entry: @unchecked Sendable {
    private weak var object: AnyObject?
    let values: DependencyValues

    init(_ object: AnyObject, _ values: DependencyValues) { (self.object, self.values) = (object, values) }

    var isGone: Bool { object == nil }
  }

  private struct Table {
    var entries: [ObjectIdentifier: Entry] = [:]
    var capacity = leastCapacity
  }

  private static let leastCapacity = 64
  private static let table = Mutex(Table())

  /// Returns the result of an operation. If it is an object, it passes these dependencies on.
  static func returned<Result>(_ result: Result, with values: DependencyValues) -> Result {
    guard type(of: result as Any) is AnyClass else { return result }
    let object = result as AnyObject
    let (id, entry) = (ObjectIdentifier(object), Entry(object, values))
    table.withLock { table in
      if table.entries.count >= table.capacity {
        table.entries = table.entries.filter { !$0.value.isGone }
        table.capacity = max(leastCapacity, table.entries.count * 2)
      }
      table.entries[id] = entry
    }
    return result
  }

  /// The dependencies of an object; `nil` if no operation with overrides has returned it.
  static func values(of object: AnyObject) -> DependencyValues? {
    let id = ObjectIdentifier(object)
    return table.withLock { table in
      // The address may be that of another object, which is gone.
      guard let entry = table.entries[id], !entry.isGone else { return nil }
      return entry.values
    }
  }

  /// How many places are taken up.
  static var count: Int { table.withLock { $0.entries.count } }
}
