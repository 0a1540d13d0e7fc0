/// The id by which effects are cancelled.
struct EffectID: Hashable, @unchecked Sendable {
  // `@unchecked Sendable` is right because `AnyHashable` only hides that the value is `Sendable`.
  private let value: AnyHashable

  init(_ value: some Hashable & Sendable) {
    self.value = value
  }
}

/// A child that may be removed, as seen by its parent.
@usableFromInline
struct PathComponent: Hashable, @unchecked Sendable {
  // `@unchecked Sendable` is right because key paths are only compared, and key paths of states are made of literals.
  let place: PathPlace
  @usableFromInline
  let identity: StateIdentity

  @usableFromInline
  init(place: AnyKeyPath, identity: StateIdentity) {
    self.place = PathPlace(place)
    self.identity = identity
  }

  init(place: ChildPlace, identity: StateIdentity) {
    self.place = PathPlace(place)
    self.identity = identity
  }

  private init(place: PathPlace, identity: StateIdentity) {
    self.place = place
    self.identity = identity
  }

  /// The same child as seen by the feature that a key path leads to; `nil` when the child is not in that feature.
  func inside(_ keyPath: AnyKeyPath) -> Self? {
    place.inside(keyPath).map { Self(place: $0, identity: identity) }
  }

  /// The same child as seen by a feature around nested features, given their key paths from the innermost one outwards.
  func within(_ keyPaths: [AnyKeyPath]) -> Self {
    Self(place: place.within(keyPaths), identity: identity)
  }
}

/// The place where a feature has one or several children that may be removed.
struct PathPlace: Hashable, @unchecked Sendable {
  // `@unchecked Sendable` is right for the reason above.
  private let base: AnyHashable
  /// The key paths to the feature: two equal places may be in different parts of the same state.
  private var keyPaths: [AnyKeyPath] = []

  init(_ base: AnyHashable) {
    self.base = base
  }

  func within(_ keyPaths: [AnyKeyPath]) -> Self {
    if keyPaths.isEmpty { return self }
    var place = self
    place.keyPaths += keyPaths
    return place
  }

  func inside(_ keyPath: AnyKeyPath) -> Self? {
    guard keyPaths.last == keyPath else { return nil }
    var place = self
    place.keyPaths.removeLast()
    return place
  }
}

/// The place of a child whose state has no key path.
final class ChildPlace: Hashable, Sendable {
  static func == (lhs: ChildPlace, rhs: ChildPlace) -> Bool { lhs === rhs }

  func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// The path from a store's feature to a child that may be removed, and on to a child of that one.
typealias EffectPath = [PathComponent]
