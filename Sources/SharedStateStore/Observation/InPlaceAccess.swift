/// Changes a property in its place.
///
/// A key path to a property with accessors takes the value out, and puts it back: a collection is copied by that, each
/// time that one of its elements changes.
public struct _$InPlaceAccess<Root, Value>: Sendable {
  /// `nil` for what is not a property of the root itself.
  private let property: (any WritableKeyPath<Root, Value> & Sendable)?
  @usableFromInline
  let modify: @Sendable (inout Root, (inout Value) -> Void) -> Void

  /// - Parameters:
  ///   - property: The key path.
  ///   - modify: Hands the property to a closure.
  public init(
    _ property: any WritableKeyPath<Root, Value> & Sendable,
    _ modify: @escaping @Sendable (inout Root, (inout Value) -> Void) -> Void
  ) {
    self.property = property
    self.modify = modify
  }

  /// What a property leads to.
  private init<Member>(_ outer: _$InPlaceAccess<Root, Member>, _ inner: _$InPlaceAccess<Member, Value>) {
    property = nil
    modify = { root, body in
      outer.modify(&root) { inner.modify(&$0, body) }
    }
  }
}

/// A property that can be changed in its place.
public protocol _$PropertyAccess<Root>: Sendable {
  /// The type that has the property.
  associatedtype Root

  /// The access to what a key path leads to, when that is this property or one within it; otherwise `nil`.
  ///
  /// - Parameter prefix: Leads to the value that has the property, from where the key path begins.
  func _access<Target>(
    to keyPath: AnyKeyPath,
    of target: Target.Type,
    behind prefix: AnyKeyPath?
  ) -> _$InPlaceAccess<Root, Target>?
}

extension _$InPlaceAccess: _$PropertyAccess {
  /// See ``_$PropertyAccess``.
  public func _access<Target>(
    to keyPath: AnyKeyPath,
    of target: Target.Type,
    behind prefix: AnyKeyPath?
  ) -> _$InPlaceAccess<Root, Target>? {
    guard let property, let here = prefix.map({ $0.appending(path: property) }) ?? property else { return nil }
    if here == keyPath { return self as? _$InPlaceAccess<Root, Target> }
    guard let state = Value.self as? any ObservableState.Type else { return nil }
    return access(to: keyPath, of: target, in: state, behind: here)
  }

  /// A key path cannot be taken apart, so all properties are tried.
  private func access<Target, Inner: ObservableState>(
    to keyPath: AnyKeyPath,
    of target: Target.Type,
    in state: Inner.Type,
    behind prefix: AnyKeyPath
  ) -> _$InPlaceAccess<Root, Target>? {
    let inner = state.access(to: keyPath, of: target, behind: prefix)
    guard let inner = inner as? _$InPlaceAccess<Value, Target> else { return nil }
    return _$InPlaceAccess<Root, Target>(self, inner)
  }
}

extension ObservableState {
  /// The access to what a key path leads to, by one step or by several; `nil` when it is not known.
  @usableFromInline
  static func access<Target>(
    to keyPath: AnyKeyPath,
    of target: Target.Type,
    behind prefix: AnyKeyPath? = nil
  ) -> _$InPlaceAccess<Self, Target>? {
    for property in _$inPlaceAccesses {
      if let access = property._access(to: keyPath, of: target, behind: prefix) { return access }
    }
    return nil
  }
}
