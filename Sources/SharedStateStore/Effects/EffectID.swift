/// What effects are cancelled by.
struct EffectID: Hashable, @unchecked Sendable {
  // `@unchecked Sendable` is right because `AnyHashable` only hides that the value is `Sendable`.
  private let value: AnyHashable

  init(_ value: some Hashable & Sendable) {
    self.value = value
  }
}

/// A child that may go, as seen by its parent.
@usableFromInline
struct PathComponent: Hashable, @unchecked Sendable {
  // `@unchecked Sendable` is right because key paths are compared only, and those of states are made of literals.
  private let place: AnyHashable
  private let identity: StateIdentity

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

/// The place of a child whose state no key path leads to.
final class ChildPlace: Hashable, Sendable {
  static func == (lhs: ChildPlace, rhs: ChildPlace) -> Bool { lhs === rhs }

  func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// The way from a store's feature to a child that may go, and further to a child of that.
typealias EffectPath = [PathComponent]
