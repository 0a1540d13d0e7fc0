/// The id by which effects are cancelled.
struct EffectID: Hashable, @unchecked Sendable {
  // `@unchecked Sendable` is right because `AnyHashable` only hides that the value is `Sendable`.
  private let value: AnyHashable

  init(_ value: some Hashable & Sendable) {
    self.value = value
  }
}

/// A child, as seen by its parent.
@usableFromInline
struct PathComponent: Hashable, @unchecked Sendable {
  // `@unchecked Sendable` is right because key paths are only compared, and key paths of states are made of literals.

  /// The place where the parent has this child, or several.
  let place: AnyHashable
  @usableFromInline
  let identity: StateIdentity

  @usableFromInline
  init(place: AnyKeyPath, identity: StateIdentity) {
    self.place = place
    self.identity = identity
  }

  init(place: ChildPlace, identity: StateIdentity) {
    self.place = place
    self.identity = identity
  }
}

/// The place of a child whose state has no key path.
final class ChildPlace: Hashable, Sendable {
  static func == (lhs: ChildPlace, rhs: ChildPlace) -> Bool { lhs === rhs }

  func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// The path from a store's feature to a child, and on to a child of that one.
typealias EffectPath = [PathComponent]
