/// A state whose readers are notified only of changes of the parts that they have read.
///
/// The macro `@ObservableState` makes all requirements.
public protocol ObservableState: ObservedByIdentity {
  /// In-place accesses to the properties. A property without one is copied when a child reducer changes it.
  static var _$inPlaceAccesses: [any _$PropertyAccess<Self>] { get }
}

extension ObservableState {
  /// No property has one.
  public static var _$inPlaceAccesses: [any _$PropertyAccess<Self>] { [] }
}

/// A value that keeps its identity as long as only its contents change.
///
/// A reader of `state.child` is notified when another child replaces it, not when the same child changes inside.
public protocol ObservedByIdentity {
  /// The identity of the value.
  var _$id: ObservableStateID { get }
}

extension Optional: ObservedByIdentity where Wrapped: ObservedByIdentity {
  /// The identity of the wrapped value.
  public var _$id: ObservableStateID {
    self?._$id ?? .none
  }
}

extension Array: ObservedByIdentity where Element: ObservedByIdentity {
  /// The identities of the elements, in their order.
  public var _$id: ObservableStateID {
    .elements(map(\._$id))
  }
}

/// The identity of any expression. A value without an identity of its own gets a new one each time.
@_disfavoredOverload
public func _$id<Value>(of value: Value) -> ObservableStateID {
  ObservableStateID()
}

/// The identity of an expression.
public func _$id(of value: some ObservedByIdentity) -> ObservableStateID {
  value._$id
}
