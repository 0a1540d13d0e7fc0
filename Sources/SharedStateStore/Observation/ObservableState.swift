/// A state whose readers hear of the changes of what they have read, and of nothing else.
///
/// The macro `@ObservableState` makes everything that it needs.
public protocol ObservableState: ObservedByIdentity {
  /// How a property is changed in its place: an ``_$InPlaceAccess``; `nil` when nothing is known but its key path.
  static func _$inPlaceAccess(to property: AnyKeyPath) -> Any?
}

extension ObservableState {
  /// Nothing is known but the key paths.
  public static func _$inPlaceAccess(to property: AnyKeyPath) -> Any? { nil }
}

/// Changes a property in its place.
///
/// A key path to a property with accessors takes the value out, and puts it back: a collection is copied by that, each
/// time that one of its elements changes.
public struct _$InPlaceAccess<Root, Value>: Sendable {
  @usableFromInline
  let modify: @Sendable (inout Root, (inout Value) -> Void) -> Void

  /// - Parameters:
  ///   - property: The key path, which says what the types are.
  ///   - modify: Hands the property to a closure.
  @inlinable
  public init(
    _ property: WritableKeyPath<Root, Value>,
    _ modify: @escaping @Sendable (inout Root, (inout Value) -> Void) -> Void
  ) {
    self.modify = modify
  }
}

/// A value that is the same one as long as only its contents change.
///
/// Who reads `state.child` hears of another child, and not of what changes within the same one.
public protocol ObservedByIdentity {
  /// Which value this is.
  var _$id: ObservableStateID { get }

  /// Says that what is around the value gives it away to be changed, so that it can be told from its copies then.
  mutating func _$willModify()
}

extension Optional: ObservedByIdentity where Wrapped: ObservedByIdentity {
  /// Which value this is.
  public var _$id: ObservableStateID {
    self?._$id ?? .none
  }

  /// See ``ObservedByIdentity/_$willModify()``.
  public mutating func _$willModify() {
    self?._$willModify()
  }
}

extension Array: ObservedByIdentity where Element: ObservedByIdentity {
  /// Which values are in it, in their order.
  public var _$id: ObservableStateID {
    .elements(map(\._$id))
  }

  /// The elements are changed one by one, each by who takes it out.
  public mutating func _$willModify() {}
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

/// A value without an identity has no copies to be told from.
@_disfavoredOverload
public func _$willModify<Value>(_ value: inout Value) {}

/// See ``ObservedByIdentity/_$willModify()``.
public func _$willModify(_ value: inout some ObservedByIdentity) {
  value._$willModify()
}
