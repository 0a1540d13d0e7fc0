import SharedState

/// The values with a change that was given up. A value stays here until a flush reports it, or until a later change of
/// it is saved.
struct GivenUpChanges: Sendable {
  /// How many names are kept. Further changes are only counted.
  static let maximumNames = 1_000

  /// The shares to notify once a flush has reported them.
  private var values: [Name: AttachmentReference?] = [:]
  private var further = 0

  /// Whether there is nothing to report.
  var isEmpty: Bool { values.isEmpty && further == 0 }

  func contains(_ name: Name) -> Bool { values[name] != nil }

  /// Notes that a change of a value was given up.
  mutating func insert(_ name: Name, _ attachment: AttachmentReference? = nil) {
    if values.count < Self.maximumNames || contains(name) {
      values[name] = .some(attachment)
    } else {
      further += 1
    }
  }

  /// Forgets a value that was saved: the change that was given up is outdated.
  mutating func remove(_ name: Name) {
    values[name] = nil
  }

  /// All changes that were given up, to be reported by a flush.
  struct Notice: Sendable {
    let values: Set<Name>
    /// ``RedisSharedStateError/Code/changesGivenUp``
    let error: RedisSharedStateError
    /// The shares to notify.
    let shares: [AttachmentReference]
  }

  /// Takes the notice of a flush. The changes count as reported from then on.
  ///
  /// - Parameter heard: The names reported to this flush itself. Another flush may have reported them as well.
  /// - Returns: `nil` if nothing was given up.
  mutating func take(with heard: Set<Name>) -> Notice? {
    let names = heard.union(values.keys)
    guard !names.isEmpty || further > 0 else { return nil }
    defer { (values, further) = ([:], 0) }
    let named = names.sorted().prefix(RedisSharedStateError.maximumNames).map(\.text)
    let error = RedisSharedStateError.changesGivenUp(names: named, further: further + names.count - named.count)
    return Notice(values: names, error: error, shares: values.values.compactMap(\.self))
  }
}
