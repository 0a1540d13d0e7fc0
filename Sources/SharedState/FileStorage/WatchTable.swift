/// The watchers of each watched directory, by the names in it that matter to them, so that an event finds its own.
struct WatchTable {
  /// The names that matter in each watched directory; `nil` for the directory itself.
  typealias Names = [Int32: Set<Name?>]

  private var directories: [Int32: [Name?: Set<UInt64>]] = [:]

  /// Adds a name that matters to a watcher.
  mutating func insert(_ name: Name?, in watch: Int32, of watcher: UInt64) {
    directories[watch, default: [:]][name, default: []].insert(watcher)
  }

  /// Removes names that matter to a watcher no longer.
  ///
  /// - Parameter kept: Names that stay.
  /// - Returns: The directories that no watcher needs any more.
  mutating func remove(_ names: Names, except kept: Names = [:], of watcher: UInt64) -> [Int32] {
    var unneeded: [Int32] = []
    for (watch, names) in names {
      // It was forgotten otherwise.
      guard var directory = directories.removeValue(forKey: watch) else { continue }
      for name in names where kept[watch]?.contains(name) != true {
        directory[name]?.remove(watcher)
        if directory[name]?.isEmpty == true { directory[name] = nil }
      }
      if directory.isEmpty { unneeded.append(watch) } else { directories[watch] = directory }
    }
    return unneeded
  }

  /// The watchers that an event of a directory concerns: one of the directory itself concerns all of them.
  func watchers(of event: InotifyEvent) -> Set<UInt64> {
    guard let directory = directories[event.watch] else { return [] }
    guard event.name == nil else { return directory[event.name] ?? [] }
    return directory.values.reduce(into: []) { $0.formUnion($1) }
  }

  /// Forgets a directory that is watched no longer.
  mutating func forget(_ watch: Int32) {
    directories[watch] = nil
  }
}
