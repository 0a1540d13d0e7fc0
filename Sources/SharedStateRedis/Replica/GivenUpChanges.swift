package import SharedState

/// The values of which a change was given up, until a flush has told so, or a later change of the value is saved.
package struct GivenUpChanges: Sendable {
  /// How many names are kept; of further changes only how many there were.
  package static let maximumNames = 1_000

  private var names: Set<Name> = []
  private var further = 0

  package init() {}

  /// Whether there is nothing to tell.
  package var isEmpty: Bool { names.isEmpty && further == 0 }

  func contains(_ name: Name) -> Bool { names.contains(name) }

  /// A change was given up.
  mutating func insert(_ name: Name) {
    if names.count < Self.maximumNames {
      names.insert(name)
    } else if !names.contains(name) {
      further += 1
    }
  }

  /// What was given up is outdated: the value is saved.
  mutating func remove(_ name: Name) {
    names.remove(name)
  }

  /// What a flush throws for all of it, which then counts as told.
  ///
  /// - Parameter heard: What the flush was told of itself; another one may have told of it as well.
  /// - Returns: ``RedisSharedStateError/Code/changesGivenUp``; `nil`: nothing was given up.
  package mutating func take(with heard: Set<Name>) -> RedisSharedStateError? {
    let told = names.union(heard)
    guard !told.isEmpty || further > 0 else { return nil }
    defer { (names, further) = ([], 0) }
    let named = told.sorted().prefix(RedisSharedStateError.maximumNames).map(\.text)
    return .changesGivenUp(names: named, further: further + told.count - named.count)
  }
}
