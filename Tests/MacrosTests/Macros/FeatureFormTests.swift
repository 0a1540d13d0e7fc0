import SharedState
public import SharedStateStore
import SharedStateTesting
import Testing

/// Its body names the types of its state and its actions.
@Reducer
struct Adding {
  var body: some Reducer<Int, Bool> {
    Reduce { state, action in
      state += action ? 1 : -1
      return .none
    }
  }
}

/// Its types are those of another feature.
@Reducer
struct AddingTwice {
  var body: some ReducerOf<Adding> {
    Adding()
    Adding()
  }
}

/// A public feature does not have to say that its types are `Sendable`.
@Reducer
public struct PublicFeature {
  /// Does not name `Sendable`.
  @ObservableState
  public struct State: Equatable {
    /// How many actions there were.
    public var count = 0

    /// None yet.
    public init() {}
  }

  /// Does not name `Sendable` either.
  public enum Action {
    /// One more.
    case increment
  }

  /// A feature.
  public init() {}

  /// Counts.
  public var body: some ReducerOf<Self> {
    Reduce { state, action in
      state.count += 1
      return .none
    }
  }
}

/// Has a child in every place that a scope leads to.
@Reducer
struct Places {
  @Reducer
  enum Choice {
    case one(PublicFeature)
    case other(PublicFeature)
  }

  @ObservableState
  struct State {
    var child = PublicFeature.State()
    var optional: PublicFeature.State?
    @Presents var choice: Choice.State?
    var stack = StackState<Choice.State>()
    var elements: IdentifiedArrayOf<PlacedRow.State> = []
  }

  enum Action {
    case child(PublicFeature.Action)
    case optional(PublicFeature.Action)
    case choice(PresentationAction<Choice.Action>)
    case stack(StackActionOf<Choice>)
    case elements(IdentifiedActionOf<PlacedRow>)
  }

  var body: some ReducerOf<Self> {
    Scope(\.child, action: \.child) { PublicFeature() }
    Reduce { _, _ in .none }
      .ifLet(\.optional, action: \.optional) { PublicFeature() }
      .ifLet(\.$choice, action: \.choice)
      .forEach(\.stack, action: \.stack)
      .forEach(\.elements, action: \.elements) { PlacedRow() }
  }
}

@Reducer
struct PlacedRow {
  @ObservableState
  struct State: Identifiable {
    let id: Int
    var count = 0
  }

  enum Action {
    case increment
  }

  var body: some ReducerOf<Self> {
    Reduce { state, action in
      state.count += 1
      return .none
    }
  }
}

@Suite("Forms of a feature", .timeLimit(.minutes(5)))
struct FeatureFormTests {
  @Test("A body that names its types needs no others")
  func bodyTypes() {
    let store = Store(initialState: 1) { AddingTwice() }
    store.send(true)
    #expect(store.state == 3)
    #expect(Adding.State.self == Int.self)
    #expect(AddingTwice.Action.self == Bool.self)
  }

  @Test("The types of a public feature are Sendable")
  func sendable() {
    func accept<Value: Sendable>(_ value: Value) -> Value { value }
    #expect(accept(PublicFeature.State()).count == 0)
    let store = Store(initialState: PublicFeature.State()) { PublicFeature() }
    store.send(accept(PublicFeature.Action.increment))
    #expect(store.count == 1)
  }

  @Test("A scope needs no label")
  func scopes() {
    var state = Places.State()
    state.optional = PublicFeature.State()
    state.choice = .one(PublicFeature.State())
    state.stack = [.one(PublicFeature.State())]
    state.elements = [PlacedRow.State(id: 7)]
    let store = Store(initialState: state) { Places() }
    store.scope(\.child, action: \.child).send(.increment)
    store.scope(\.optional, action: \.optional)?.send(.increment)
    store.scope(\.$choice, action: \.choice)?.send(.one(.increment))
    store.scope(\.stack, action: \.stack).first?.send(.one(.increment))
    store.scope(\.elements, action: \.elements).first?.send(.increment)
    #expect(store.child.count == 1)
    #expect(store.optional?.count == 1)
    #expect(store.state.$choice[case: \.one]?.count == 1)
    #expect(store.state.stack.first?[case: \.one]?.count == 1)
    #expect(store.elements[id: 7]?.count == 1)
  }

  @Test("Writing through a case that the state is not in is an issue, and changes nothing")
  func wrongCase() {
    var state = Places.State()
    state.stack = [.one(PublicFeature.State())]
    let id = state.stack.ids[0]
    state.choice = .one(PublicFeature.State())
    state.$choice[case: \.one]?.count = 1
    state.stack[id: id, case: \.one]?.count = 1
    #expect(state.$choice[case: \.one]?.count == 1)
    #expect(state.stack[id: id, case: \.one]?.count == 1)
    for change: (inout Places.State) -> Void in [
      { $0.$choice[case: \.other] = PublicFeature.State() },
      { $0.stack[id: id, case: \.other] = PublicFeature.State() },
      { $0.$choice[case: \.other] = nil },
      { $0.stack[id: id, case: \.other] = nil },
      { $0.$choice[case: \.other]?.count = 2 },
      { $0.stack[id: id, case: \.other]?.count = 2 },
    ] {
      withKnownIssue {
        change(&state)
      } matching: {
        $0.comments.contains { $0.rawValue.contains("was assigned to a case that the state is not in") }
      }
    }
    #expect(state.$choice[case: \.one]?.count == 1)
    #expect(state.stack[id: id, case: \.one]?.count == 1)
    state.$choice[case: \.one] = nil
    #expect(state.choice == nil)
    state.stack[id: id, case: \.one] = nil
    #expect(state.stack.isEmpty)
    // Nothing is there that could be in another case.
    state.$choice[case: \.other] = nil
    state.stack[id: id, case: \.other]?.count = 2
  }
}
