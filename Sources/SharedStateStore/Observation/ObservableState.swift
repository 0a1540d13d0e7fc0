/// A state whose readers hear of the changes of what they have read, and of nothing else.
///
/// The macro `@ObservableState` makes everything that it needs.
public protocol ObservableState: ObservedByIdentity {
  /// How the properties are changed in their places. One that is missing is copied when a child reducer changes it.
  static var _$inPlaceAccesses: [any _$PropertyAccess<Self>] { get }
}

extension ObservableState {
  /// None is known.
  public static var _$inPlaceAccesses: [any _$PropertyAccess<Self>] { [] }
}

/// A value that is the same one as long as only its contents change.
///
/// Who reads `state.child` hears of another child, and not of what changes within the same one.
public protocol ObservedByIdentity {
  /// Which value this is.
  var _$id: ObservableStateID { get }
}

extension Optional: ObservedByIdentity where Wrapped: ObservedByIdentity {
  /// Which value this is.
  public var _$id: ObservableStateID {
    self?._$id ?? .none
  }
}

extension Array: ObservedByIdentity where Element: ObservedByIdentity {
  /// Which values are in it, in their order.
  public var _$id: ObservableStateID {
    .elements(map(\._$id))
  }
}

/// Which value an expression of any type is. A value that has no identity is another one each time.
@_disfavoredOverload
public func _$id<Value>(of value: Value) -> ObservableStateID {
  ObservableStateID()
}

/// Which value an expression is.
public func _$id(of value: some ObservedByIdentity) -> ObservableStateID {
  value._$id
}
