/// Changes a property in place.
///
/// A key path to a property with accessors takes the value out, and puts it back. That copies a collection each time
/// that one of its elements changes.
public struct _$InPlaceAccess<Root, Value>: Sendable {
  /// `nil` when the access leads to more than a property of the root itself.
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

  /// The access through a property to a property within it.
  private init<Member>(_ outer: _$InPlaceAccess<Root, Member>, _ inner: _$InPlaceAccess<Member, Value>) {
    property = nil
    modify = { root, body in
      outer.modify(&root) { inner.modify(&$0, body) }
    }
  }
}

/// A property that can be changed in place.
public protocol _$PropertyAccess<Root>: Sendable {
  /// The type that has the property.
  associatedtype Root

  /// The access to the target of a key path, if that is this property or a property within it; otherwise `nil`.
  ///
  /// - Parameter prefix: The part of the key path that leads to the value with this property.
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

  /// A key path cannot be taken apart, so this tries all properties.
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
  /// The access to the target of a key path, in one step or several; `nil` when it is not known.
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
