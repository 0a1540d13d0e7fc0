/// An action type with a case `binding` for changes of single properties.
public protocol BindableAction<State>: SendableMetatype {
  /// The state whose properties change.
  associatedtype State: Sendable

  /// Makes the action of a change.
  static func binding(_ action: BindingAction<State>) -> Self

  /// The change, if the action is one.
  var binding: BindingAction<State>? { get }
}

extension BindableAction {
  /// The value of the case `binding`. Finding it reflects the action, which takes about a microsecond.
  public var binding: BindingAction<State>? {
    guard let child = Mirror(reflecting: self).children.first, child.label == "binding" else { return nil }
    return child.value as? BindingAction<State>
  }

  /// Makes the action that sets a property.
  public static func set<Value: Equatable & Sendable>(
    _ keyPath: any WritableKeyPath<State, Value> & Sendable,
    _ value: Value
  ) -> Self {
    binding(.set(keyPath, value))
  }
}

/// A change of one property of a state, as an action.
public struct BindingAction<Root: Sendable>: Sendable, Equatable {
  /// The property.
  public let keyPath: any PartialKeyPath<Root> & Sendable
  let set: @Sendable (inout Root) -> Void
  private let value: any Equatable & Sendable

  /// Sets a property to a value.
  public static func set<Value: Equatable & Sendable>(
    _ keyPath: any WritableKeyPath<Root, Value> & Sendable,
    _ value: Value
  ) -> Self {
    Self(keyPath: keyPath, set: { $0[keyPath: keyPath] = value }, value: value)
  }

  /// Whether both set the same property to the same value.
  public static func == (lhs: Self, rhs: Self) -> Bool {
    func isEqual<Value: Equatable>(_ value: Value) -> Bool { rhs.value as? Value == value }
    return (lhs.keyPath as AnyKeyPath) == (rhs.keyPath as AnyKeyPath) && isEqual(lhs.value)
  }

  /// Whether it sets the property, as in `case .binding(\.name)`.
  public static func ~= <Value>(keyPath: WritableKeyPath<Root, Value>, action: Self) -> Bool {
    (keyPath as AnyKeyPath) == (action.keyPath as AnyKeyPath)
  }
}

extension BindingAction: CasePathable {
  /// The paths of the properties, as in `\.binding.name`.
  @dynamicMemberLookup
  public struct AllCasePaths: Sendable {
    /// The path of the changes of a property.
    public subscript<Value: Equatable & Sendable>(
      dynamicMember keyPath: any WritableKeyPath<Root, Value> & Sendable
    ) -> AnyCasePath<BindingAction, Value> {
      AnyCasePath(embed: { .set(keyPath, $0) }, extract: { keyPath ~= $0 ? $0.value as? Value : nil })
    }
  }

  /// The paths of all properties.
  public static var allCasePaths: AllCasePaths { AllCasePaths() }
}

extension BindingAction: CustomReflectable {
  /// The property and the value.
  public var customMirror: Mirror {
    Mirror(self, children: ["set": (keyPath as AnyKeyPath, value)], displayStyle: .enum)
  }
}

/// Applies the changes of actions with a case `binding`.
public struct BindingReducer<State: Sendable, Action: Sendable, ViewAction: BindableAction<State>>: Reducer {
  /// It has no body.
  public typealias Body = Never

  private let toViewAction: @Sendable (Action) -> ViewAction?

  /// Applies the changes when the actions themselves are bindable.
  public init() where Action == ViewAction {
    toViewAction = { $0 }
  }

  /// Applies the changes when a case of the actions holds bindable actions.
  public init(action toViewAction: CaseKeyPath<Action, ViewAction>) {
    let path = AnyCasePath(toViewAction)
    self.toViewAction = { path.extract(from: $0) }
  }

  /// Applies the change, if the action is one.
  public func reduce(into state: inout State, action: Action) -> Effect<Action> {
    toViewAction(action)?.binding?.set(&state)
    return .none
  }
}
