/// Makes a struct a feature by adding the state, actions or body that it lacks.
///
/// ```swift
/// @Reducer
/// struct Counter {
///   @ObservableState
///   struct State { var count = 0 }
///   enum Action { case increment }
///   var body: some ReducerOf<Self> {
///     Reduce { state, action in
///       switch action {
///       case .increment:
///         state.count += 1
///         return .none
///       }
///     }
///   }
/// }
/// ```
///
/// Its actions get case paths, and its body is built from reducers. An enum whose cases have features as values becomes
/// one feature, which is one of them at a time:
///
/// ```swift
/// @Reducer
/// enum Destination {
///   case counter(Counter)
///   @ReducerCaseIgnored case item(Item)
/// }
/// ```
///
/// `store.case` is then an enum with the same cases, whose values are the stores of the features. The reducer of a case
/// is made without arguments, or is the default value of the case. You can also write the expansion by hand: see
/// <doc:MacrosByHand>.
@attached(member, names: named(State), named(Action), named(body), named(CaseScope), named(scope))
@attached(memberAttribute)
@attached(extension, conformances: CaseReducer, Reducer, names: named(_$expectReducers))
public macro Reducer() = #externalMacro(module: "SharedStateMacros", type: "ReducerMacro")

/// Makes the state and the actions of a public feature `Sendable`. `@Reducer` writes it.
@attached(extension, conformances: Sendable)
public macro _$Sendable() = #externalMacro(module: "SharedStateMacros", type: "SendableMacro")

/// Makes one feature of an enum of features, and adds conformances to its state and actions.
///
/// ```swift
/// @Reducer(state: .equatable, action: .equatable)
/// enum Destination {
///   case counter(Counter)
/// }
/// ```
@attached(member, names: named(State), named(Action), named(body), named(CaseScope), named(scope))
@attached(memberAttribute)
@attached(extension, conformances: CaseReducer, Reducer, names: named(_$expectReducers))
public macro Reducer(state: SynthesizedConformance..., action: SynthesizedConformance...) =
  #externalMacro(module: "SharedStateMacros", type: "ReducerMacro")

/// A conformance of a state or an action that `@Reducer` makes. Only the macro reads it.
public struct SynthesizedConformance {
  /// `Codable`.
  public static var codable: Self { Self() }
  /// `Decodable`.
  public static var decodable: Self { Self() }
  /// `Encodable`.
  public static var encodable: Self { Self() }
  /// `Equatable`.
  public static var equatable: Self { Self() }
  /// `Hashable`.
  public static var hashable: Self { Self() }
  /// `Sendable`.
  public static var sendable: Self { Self() }
}

/// Marks the value of a case as a state without actions instead of a feature, for `@Reducer`.
@attached(peer)
public macro ReducerCaseIgnored() = #externalMacro(module: "SharedStateMacros", type: "ReducerCaseMacro")

/// Marks the value of a case as a state with actions but without a reducer, for `@Reducer`.
@attached(peer)
public macro ReducerCaseEphemeral() = #externalMacro(module: "SharedStateMacros", type: "ReducerCaseMacro")

/// Makes key paths to the cases of an enum, as in `\Action.Cases.child`.
///
/// ```swift
/// @CasePathable
/// enum Action {
///   case buttonTapped
///   case nameChanged(String)
/// }
/// ```
///
/// With `@dynamicMemberLookup` beside it, the value of a case is an optional property: `action.nameChanged`. Two cases
/// with the same name are refused. You can also write the expansion by hand: see <doc:MacrosByHand>.
@attached(member, names: named(AllCasePaths), named(allCasePaths))
@attached(extension, conformances: CasePathable)
public macro CasePathable() = #externalMacro(module: "SharedStateMacros", type: "CasePathableMacro")

/// Makes a state notify its readers of changes.
///
/// ```swift
/// @ObservableState
/// struct State {
///   var count = 0
///   var child: Child.State?
/// }
/// ```
///
/// A reader of `count` within `withObservationTracking` is notified when it changes. A reader of `child` is notified
/// when another child replaces it, and of a change within the child only if it has read that part, too. A reader of any
/// part of a state is notified when an old copy is put back. Computed properties and properties with a property wrapper
/// are left as they are. You can also write the expansion by hand: see <doc:MacrosByHand>.
@attached(
  member,
  names: named(_$observationRegistrar),
  named(_$id),
  named(_$inPlaceAccesses),
  named(CodingKeys)
)
@attached(memberAttribute)
@attached(extension, conformances: ObservableState)
public macro ObservableState() = #externalMacro(module: "SharedStateMacros", type: "ObservableStateMacro")

/// Makes a property of an observable state notify its readers of changes. `@ObservableState` writes it.
@attached(accessor, names: named(init), named(get), named(set), named(_modify))
@attached(peer, names: prefixed(_))
public macro ObservationStateTracked() =
  #externalMacro(module: "SharedStateMacros", type: "ObservationStateTrackedMacro")

/// Leaves a property of an observable state as it is: its readers are not notified of changes.
@attached(accessor, names: named(willSet))
public macro ObservationStateIgnored() =
  #externalMacro(module: "SharedStateMacros", type: "ObservationStateIgnoredMacro")

/// Keeps the optional state of a presented feature.
///
/// ```swift
/// @ObservableState
/// struct State {
///   @Presents var child: Child.State?
/// }
/// ```
///
/// `state.child` is the optional state, and `state.$child` the ``PresentationState`` around it, which `ifLet` takes. In
/// an observable state it is observed like every other property. You can also write the expansion by hand: see
/// <doc:MacrosByHand>.
@attached(accessor, names: named(init), named(get), named(set), named(_modify))
@attached(peer, names: prefixed(`$`), prefixed(_))
public macro Presents() = #externalMacro(module: "SharedStateMacros", type: "PresentsMacro")
