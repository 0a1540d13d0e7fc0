/// The children with effects of a feature's children, as the feature sees them.
///
/// A feature may have ten thousand elements. Whoever looks for those whose children have gone asks only these.
@usableFromInline
struct LiveChildren: @unchecked Sendable {
  // `@unchecked Sendable` is right because key paths are compared only, and those of states are made of literals.

  /// `nil` when there are none.
  private let registry: CancellationRegistry?
  private var path: EffectPath = []
  /// What leads to the feature from the last child of the path, from the innermost one outwards.
  private var keyPaths: [AnyKeyPath] = []

  /// Those of a feature that no store runs.
  @usableFromInline
  static var unknown: Self { Self(registry: nil) }

  private init(registry: CancellationRegistry?) {
    self.registry = registry
  }

  /// Those in a store, as its own feature sees them.
  @usableFromInline
  init(in registry: CancellationRegistry) {
    self.init(registry: registry.hasParents ? registry : nil)
  }

  /// What a feature sees that a key path leads to.
  @usableFromInline
  func within(_ keyPath: AnyKeyPath) -> Self {
    if registry == nil { return self }
    var inner = self
    inner.keyPaths.insert(keyPath, at: 0)
    return inner
  }

  /// What a child sees.
  @usableFromInline
  func within(_ child: @autoclosure () -> PathComponent) -> Self {
    if registry == nil { return self }
    var inner = self
    inner.path.append(child().within(keyPaths))
    inner.keyPaths = []
    return inner
  }

  /// Those of the children at a place that have children with effects.
  @usableFromInline
  func parents(at place: AnyKeyPath) -> [StateIdentity] {
    registry?.parents(at: PathPlace(place).within(keyPaths), path: path) ?? []
  }
}

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
