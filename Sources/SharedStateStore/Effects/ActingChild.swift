/// A child that has effects in an action, and those of its children that have.
@usableFromInline
struct ActingChild: Sendable {
  @usableFromInline
  let component: PathComponent
  @usableFromInline
  let children: [ActingChild]

  /// The same child as seen by the feature that a key path leads to; `nil` when it is not there.
  @usableFromInline
  func inside(_ keyPath: AnyKeyPath) -> Self? {
    component.inside(keyPath).map { Self(component: $0, children: children) }
  }
}

extension Effect {
  /// The children that it belongs to.
  @usableFromInline
  var children: [ActingChild] {
    switch box?.operation {
    case .merge(let effects), .concatenate(let effects): effects.flatMap(\.children)
    case .cancellable(let effect, _, _): effect.children
    case .child(let effect, let component, _): [ActingChild(component: component, children: effect.children)]
    default: []
    }
  }
}
