/// The children that have effects, below the children of a feature, as the feature sees them.
///
/// A feature may have ten thousand elements. Only these are asked whether children of theirs were removed.
@usableFromInline
struct LiveChildren: @unchecked Sendable {
  // `@unchecked Sendable` is right because key paths are only compared, and key paths of states are made of literals.

  /// `nil` when there are none.
  private let registry: CancellationRegistry?
  private var path: EffectPath = []

  /// The live children of a feature that no store runs: none.
  @usableFromInline
  static var unknown: Self { Self(registry: nil) }

  private init(registry: CancellationRegistry?) {
    self.registry = registry
  }

  /// The live children in a store, as its own feature sees them.
  @usableFromInline
  init(in registry: CancellationRegistry) {
    self.init(registry: registry.hasParents ? registry : nil)
  }

  /// The live children as seen by a child.
  @usableFromInline
  func within(_ child: @autoclosure () -> PathComponent) -> Self {
    if registry == nil { return self }
    var inner = self
    inner.path.append(child())
    return inner
  }

  /// The children at a place that have children with effects.
  @usableFromInline
  func parents(at place: AnyKeyPath) -> [StateIdentity] {
    registry?.parents(at: place, path: path) ?? []
  }
}

/// A child that has effects from an action, and those of its children that have some, too.
@usableFromInline
struct ActingChild: Sendable {
  @usableFromInline
  let component: PathComponent
  @usableFromInline
  let children: [ActingChild]
}

extension Effect {
  /// The children whose effects are part of this effect.
  @usableFromInline
  var children: [ActingChild] {
    switch box?.operation {
    case .merge(let effects), .concatenate(let effects): effects.flatMap(\.children)
    case .cancellable(let effect, _, _): effect.children
    case .part(let effect, let component), .child(let effect, let component, _):
      [ActingChild(component: component, children: effect.children)]
    default: []
    }
  }
}
