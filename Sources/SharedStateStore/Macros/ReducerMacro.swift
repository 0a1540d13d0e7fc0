/// Makes a feature of a struct: what it lacks of a state, actions and a body.
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
/// Its actions get case paths, and its body is built from reducers. Of an enum whose cases have features as values it makes
/// one feature that is one of them at a time:
///
/// ```swift
/// @Reducer
/// enum Destination {
///   case counter(Counter)
///   @ReducerCaseIgnored case item(Item)
/// }
/// ```
///
/// `store.case` is then an enum with the same cases, whose values are the stores of the features. The reducer of a case is made
/// without arguments, or is the default value of the case. What the macro makes can be written
/// by hand: see <doc:MacrosByHand>.
@attached(member, names: named(State), named(Action), named(body), named(CaseScope), named(scope))
@attached(memberAttribute)
@attached(extension, conformances: CaseReducer, Reducer)
public macro Reducer() = #externalMacro(module: "SharedStateStoreMacros", type: "ReducerMacro")

/// Makes one feature of an enum of features, whose state and actions have more conformances.
///
/// ```swift
/// @Reducer(state: .equatable, action: .equatable)
/// enum Destination {
///   case counter(Counter)
/// }
/// ```
@attached(member, names: named(State), named(Action), named(body), named(CaseScope), named(scope))
@attached(memberAttribute)
@attached(extension, conformances: CaseReducer, Reducer)
public macro Reducer(state: SynthesizedConformance..., action: SynthesizedConformance...) =
  #externalMacro(module: "SharedStateStoreMacros", type: "ReducerMacro")

/// A conformance of a state or an action that `@Reducer` makes. Only the macro looks at it.
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

/// Tells `@Reducer` that the values of a case are no features, but a state without actions.
@attached(peer)
public macro ReducerCaseIgnored() = #externalMacro(module: "SharedStateStoreMacros", type: "ReducerCaseMacro")

/// Tells `@Reducer` that the value of a case is a state with actions, and that there is no reducer of them.
@attached(peer)
public macro ReducerCaseEphemeral() = #externalMacro(module: "SharedStateStoreMacros", type: "ReducerCaseMacro")

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
/// With `@dynamicMemberLookup` beside it the value of a case is an optional property: `action.nameChanged`. Two cases of
/// one name are refused. What it makes can be written by hand: see <doc:MacrosByHand>.
@attached(member, names: named(AllCasePaths), named(allCasePaths))
@attached(extension, conformances: CasePathable)
public macro CasePathable() = #externalMacro(module: "SharedStateStoreMacros", type: "CasePathableMacro")

/// Makes a state tell its readers what has changed.
///
/// ```swift
/// @ObservableState
/// struct State {
///   var count = 0
///   var child: Child.State?
/// }
/// ```
///
/// Who reads `count` within `withObservationTracking` hears when it changes. Who reads `child` hears when another child
/// is there, and of a change within the child only when that was read, too. Who has read anything of a state hears when an
/// old copy is put back in its place. Properties with a property wrapper, and those that are computed, are left as they
/// are. What it makes can be written by hand: see <doc:MacrosByHand>.
@attached(
  member,
  names: named(_$observationRegistrar),
  named(_$id),
  named(_$inPlaceAccesses),
  named(CodingKeys)
)
@attached(memberAttribute)
@attached(extension, conformances: ObservableState)
public macro ObservableState() = #externalMacro(module: "SharedStateStoreMacros", type: "ObservableStateMacro")

/// Makes a property of an observable state tell its readers of changes. `@ObservableState` writes it.
@attached(accessor, names: named(init), named(get), named(set), named(_modify))
@attached(peer, names: prefixed(_))
public macro ObservationStateTracked() =
  #externalMacro(module: "SharedStateStoreMacros", type: "ObservationStateTrackedMacro")

/// Leaves a property of an observable state as it is: nobody hears of its changes.
@attached(accessor, names: named(willSet))
public macro ObservationStateIgnored() =
  #externalMacro(module: "SharedStateStoreMacros", type: "ObservationStateIgnoredMacro")

/// Keeps the state of a feature that is there for a while.
///
/// ```swift
/// @ObservableState
/// struct State {
///   @Presents var child: Child.State?
/// }
/// ```
///
/// `state.child` is the optional state, and `state.$child` the ``PresentationState`` around it, which `ifLet` takes. In an
/// observable state it is observed like every other property. What it makes can be written by hand: see
/// <doc:MacrosByHand>.
@attached(accessor, names: named(init), named(get), named(set), named(_modify))
@attached(peer, names: prefixed(`$`), prefixed(_))
public macro Presents() = #externalMacro(module: "SharedStateStoreMacros", type: "PresentsMacro")
