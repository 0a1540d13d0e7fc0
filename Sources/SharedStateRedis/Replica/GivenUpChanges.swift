package import SharedState

/// The values with a change that was given up. A value stays here until a flush reports it, or until a later change of
/// it is saved.
package struct GivenUpChanges: Sendable {
  /// How many names are kept. Further changes are only counted.
  static let maximumNames = 1_000

  private var names: Set<Name> = []
  private var further = 0

  package init() {}

  /// Whether there is nothing to report.
  package var isEmpty: Bool { names.isEmpty && further == 0 }

  func contains(_ name: Name) -> Bool { names.contains(name) }

  /// Notes that a change of a value was given up.
  mutating func insert(_ name: Name) {
    if names.count < Self.maximumNames {
      names.insert(name)
    } else if !names.contains(name) {
      further += 1
    }
  }

  /// Forgets a value that was saved: the change that was given up is outdated.
  mutating func remove(_ name: Name) {
    names.remove(name)
  }

  /// Takes the error that a flush throws for all changes that were given up. They count as reported from then on.
  ///
  /// - Parameter heard: The names reported to this flush itself. Another flush may have reported them as well.
  /// - Returns: ``RedisSharedStateError/Code/changesGivenUp``; `nil` if nothing was given up.
  package mutating func take(with heard: Set<Name>) -> RedisSharedStateError? {
    let told = names.union(heard)
    guard !told.isEmpty || further > 0 else { return nil }
    defer { (names, further) = ([], 0) }
    let named = told.sorted().prefix(RedisSharedStateError.maximumNames).map(\.text)
    return .changesGivenUp(names: named, further: further + told.count - named.count)
  }
}
