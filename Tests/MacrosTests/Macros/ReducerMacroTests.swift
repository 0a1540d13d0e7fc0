import Foundation
import Observation
import SharedState
import SharedStateStore
import Synchronization
import Testing

@Reducer
private struct Counting {
  @ObservableState
  struct State: Equatable {
    var count = 0
  }

  enum Action: Equatable {
    case increment
    case set(Int)
  }

  var step = 1

  var body: some ReducerOf<Self> {
    Reduce { state, action in
      switch action {
      case .increment:
        state.count += step
        return .none
      case .set(let count):
        state.count = count
        return .none
      }
    }
  }
}

@Reducer
private struct Nothing {}

@Reducer
private struct StoredBody {
  let body = EmptyReducer<Int, Int>()
}

/// Has cases that are not to be used any more.
@Reducer
private enum Former {
  case counting(Counting)
  @available(*, deprecated) case old(Counting)
  @available(*, unavailable) case gone(Counting)
}

@Reducer
private struct HasFormer {
  @ObservableState
  struct State {
    @Presents var former: Former.State?
  }

  enum Action {
    case former(PresentationAction<Former.Action>)
  }

  var body: some ReducerOf<Self> {
    EmptyReducer().ifLet(\.$former, action: \.former)
  }
}

@Reducer
private struct ByMethod: Reducer {
  enum State: Equatable {
    case off
    case on(Int)
  }

  enum Action { case toggle }

  func reduce(into state: inout State, action: Action) -> Effect<Action> {
    state = state.is(\.off) ? .on(1) : .off
    return .none
  }
}

@Reducer
private enum Destination {
  case counting(Counting)
  case byTen(Counting = Counting(step: 10))
  case nested(Nested.Body = Nested.body)
  case parent(Parent)
  case conditional(Counting)
  @ReducerCaseIgnored case item(id: Int, String)
  case nothing
}

@Reducer(state: .equatable, action: .equatable)
private enum Nested {
  case counting(Counting)
}

@Reducer
private enum Nowhere {}

/// None of its features has actions.
@Reducer(state: .equatable, action: .equatable)
private enum Silent {
  case nothing(Nothing)
  case other(Nothing)
  @ReducerCaseIgnored case item(Int)
  case empty
}

/// None of its cases is a feature.
@Reducer(state: .equatable, action: .equatable)
private enum Items {
  @ReducerCaseIgnored case item(Int)
  case empty
}

@Reducer
private struct WithoutActions {
  @ObservableState
  struct State {
    @Presents var silent: Silent.State?
    @Presents var items: Items.State?
    var path = StackState<Items.State>()
  }

  enum Action {
    case silent(PresentationAction<Silent.Action>)
    case items(PresentationAction<Items.Action>)
    case path(StackActionOf<Items>)
    case show
  }

  var body: some ReducerOf<Self> {
    Reduce { state, action in
      if case .show = action {
        state.silent = .nothing(Nothing.State())
        state.items = .item(1)
      }
      return .none
    }
    .ifLet(\.$silent, action: \.silent)
    .ifLet(\.$items, action: \.items)
    .forEach(\.path, action: \.path)
  }
}

@Reducer
private struct Parent {
  @ObservableState
  struct State {
    @Presents var destination: Destination.State?
    @Presents var child: Counting.State?
    var path = StackState<Nested.State>()
    var plain = 0
  }

  enum Action {
    case destination(PresentationAction<Destination.Action>)
    case child(PresentationAction<Counting.Action>)
    case path(StackAction<Nested.State, Nested.Action>)
    case show(Destination.State)
    case present
    case push
  }

  var body: some ReducerOf<Self> {
    Reduce { state, action in
      switch action {
      case .show(let destination): state.destination = destination
      case .present: state.child = Counting.State()
      case .push: state.path.append(.counting(Counting.State()))
      case .destination, .child, .path: break
      }
      return .none
    }
    .ifLet(\.$destination, action: \.destination)
    .ifLet(\.$child, action: \.child) { Counting() }
    .forEach(\.path, action: \.path)
  }
}

/// Its elements are features like itself.
@Reducer
private struct Tree {
  @ObservableState
  struct State: Identifiable {
    let id: Int
    var trees: IdentifiedArrayOf<State> = []
    var path = StackState<State>()
  }

  enum Action {
    case plant
    indirect case trees(IdentifiedAction<State.ID, Action>)
    indirect case path(StackAction<State, Action>)
  }

  var body: some ReducerOf<Self> {
    Reduce { state, action in
      if case .plant = action {
        state.trees.append(State(id: state.trees.count))
        state.path.append(State(id: state.path.count))
      }
      return .none
    }
    .forEach(\.trees, action: \.trees) { Tree() }
    .forEach(\.path, action: \.path) { Tree() }
  }
}

@Reducer
private struct Unobserved {
  struct State: Equatable {
    @Presents var child: Counting.State?
    @Presents var other: Counting.State? = Counting.State(count: 3)
  }

  enum Action: Equatable { case child(PresentationAction<Counting.Action>) }

  var body: some ReducerOf<Self> {
    EmptyReducer().ifLet(\.$child, action: \.child) { Counting() }
  }
}

/// The values that an observer has seen.
private final class Heard: Sendable {
  let counts = Mutex<[Int?]>([])
}

@Suite("The Reducer macro", .timeLimit(.minutes(5)))
struct ReducerMacroTests {
  private let store = Store(initialState: Parent.State()) { Parent() }

  @Test("A stored body names the state and the actions")
  func storedBody() {
    let store = Store(initialState: 1) { StoredBody() }
    store.send(2)
    #expect(store.state == 1)
  }

  @Test("An enum of features may have deprecated and unavailable cases")
  func availability() {
    let store = Store(initialState: HasFormer.State(former: .counting(Counting.State()))) { HasFormer() }
    store.send(.former(.presented(.counting(.increment))))
    #expect(store.former?[case: \.counting]?.count == 1)
  }

  @Test("A feature keeps the members that are written, and gets the missing ones")
  func structure() {
    #expect(Nothing.State() == Nothing.State())
    let store = Store(initialState: ByMethod.State.off) { ByMethod() }
    store.send(.toggle)
    #expect(store.state.on == 1)
    #expect(AnyCasePath(\Counting.Action.Cases.set).embed(3) == .set(3))
  }

  @Test("The state of a feature without a state is codable")
  func codableState() throws {
    let data = try JSONEncoder().encode(Nothing.State())
    #expect(String(decoding: data, as: UTF8.self) == "{}")
    #expect(try JSONDecoder().decode(Nothing.State.self, from: data) == Nothing.State())
  }

  @Test("An enum of features holds one feature at a time, each with its own reducer")
  func cases() {
    store.send(.show(.counting(Counting.State())))
    store.send(.destination(.presented(.counting(.increment))))
    #expect(store.state.destination?.counting?.count == 1)
    store.send(.show(.byTen(Counting.State())))
    store.send(.destination(.presented(.byTen(.increment))))
    #expect(store.state.destination?.byTen?.count == 10)
    store.send(.show(.nested(.counting(Counting.State()))))
    store.send(.destination(.presented(.nested(.counting(.set(5))))))
    #expect(store.state.destination?.nested?.counting?.count == 5)
    store.send(.show(.item(id: 1, "a")))
    #expect(store.state.destination?.item?.id == 1)
  }

  @Test("The store of an enum of features is that of its current case")
  func caseStores() throws {
    func destination() throws -> Destination.CaseScope {
      try #require(store.scope(state: \.$destination, action: \.destination)).case
    }
    store.send(.show(.counting(Counting.State())))
    guard case .counting(let counting) = try destination() else {
      Issue.record("The state is in another case.")
      return
    }
    counting.send(.increment)
    #expect(counting.count == 1)
    store.send(.show(.nested(.counting(Counting.State(count: 4)))))
    #expect(counting.count == 1)
    guard case .nested(let nested) = try destination(), case .counting(let inner) = nested.case else {
      Issue.record("The state is in another case.")
      return
    }
    inner.send(.increment)
    #expect(inner.count == 5)
    #expect(store.state.destination?.nested?.counting?.count == 5)
    store.send(.show(.item(id: 1, "a")))
    guard case .item(id: 1, "a") = try destination() else {
      Issue.record("The state is in another case.")
      return
    }
    store.send(.show(.nothing))
    guard case .nothing = try destination() else {
      Issue.record("The state is in another case.")
      return
    }
  }

  @Test("Features without actions are presented, dismissed, pushed and popped, and have stores")
  func withoutActions() throws {
    let store = Store(initialState: WithoutActions.State()) { WithoutActions() }
    store.send(.show)
    #expect(store.silent == .nothing(Nothing.State()))
    #expect(store.items == .item(1))
    guard case .nothing = try #require(store.scope(state: \.$silent, action: \.silent)).case,
      case .item(1) = try #require(store.scope(state: \.$items, action: \.items)).case
    else {
      Issue.record("The state is in another case.")
      return
    }
    store.send(.silent(.dismiss))
    store.send(.items(.dismiss))
    #expect(store.silent == nil)
    #expect(store.items == nil)
    store.send(.path(.push(id: 0, state: .empty)))
    #expect(store.path.first == .empty)
    store.send(.path(.popFrom(id: 0)))
    #expect(store.path.isEmpty)
  }

  @Test("A feature may contain itself")
  func recursion() {
    store.send(.show(.parent(Parent.State())))
    store.send(.destination(.presented(.parent(.present))))
    store.send(.destination(.presented(.parent(.child(.presented(.increment))))))
    #expect(store.state.destination?.parent?.child?.count == 1)
  }

  @Test("The elements of a feature may be of its own type")
  func recursiveElements() {
    let store = Store(initialState: Tree.State(id: 0)) { Tree() }
    store.send(.plant)
    store.send(\.trees[id: 0].plant)
    store.send(\.path[id: store.path.ids[0]].plant)
    #expect(store.trees[0].trees.count == 1)
    #expect(store.path[0].path.count == 1)
  }

  @Test("The path of a presented action may leave out 'presented'")
  func presentedPaths() {
    store.send(.present)
    store.send(\.child.increment)
    #expect(store.child?.count == 1)
    let action = Parent.Action.child(.presented(.increment))
    #expect(action.is(\.child.increment))
    #expect(!Parent.Action.child(.dismiss).is(\.child.increment))
  }

  @Test("A case of the presented state is read and changed by its path")
  func presentedCase() {
    var presentation = PresentationState(wrappedValue: Destination.State.counting(Counting.State()))
    presentation[case: \.counting]?.count = 1
    #expect(presentation[case: \.counting]?.count == 1)
    withKnownIssue { presentation[case: \.byTen]?.count = 1 }
    withKnownIssue { presentation[case: \.byTen] = Counting.State() }
    #expect(presentation[case: \.byTen] == nil)
    presentation[case: \.counting] = nil
    #expect(presentation.wrappedValue == nil)
  }

  @Test("A presentation is observed by its identity and by the members that are read")
  func presentation() {
    store.send(.present)
    store.send(.show(.counting(Counting.State())))
    let child = Observer(store.state.child)
    let count = Observer(store.state.child?.count)
    let destination = Observer(store.state.destination)
    let destinationCount = Observer(store.state.destination?.counting?.count)
    let plain = Observer(store.state.plain)
    store.send(.child(.presented(.increment)))
    #expect(count.hasHeard)
    #expect(!destinationCount.hasHeard)
    store.send(.destination(.presented(.counting(.increment))))
    #expect(destinationCount.hasHeard)
    #expect(!child.hasHeard)
    #expect(!destination.hasHeard)
    store.send(.show(.nothing))
    store.send(.present)
    #expect(child.hasHeard)
    #expect(destination.hasHeard)
    #expect(!plain.hasHeard)
    let dismissed = Observer(store.state.child)
    store.send(.child(.dismiss))
    #expect(dismissed.hasHeard)
  }

  @Test("A stack is observed by the identity of its elements and by the members that are read")
  func stack() {
    store.send(.push)
    let path = Observer(store.state.path)
    let count = Observer(store.state.path.first?.counting?.count)
    store.send(.path(.element(id: store.state.path.ids[0], action: .counting(.increment))))
    #expect(count.hasHeard)
    #expect(!path.hasHeard)
    store.send(.push)
    #expect(path.hasHeard)
  }

  @Test("Observers are notified while no lock is held, once for all changes of a reducer")
  func delivery() {
    store.send(.present)
    let store = store
    let heard = Heard()
    withObservationTracking {
      _ = store.state.child?.count
      _ = store.state.plain
    } onChange: {
      // Reading the state inside a reducer traps.
      heard.counts.withLock { $0.append(store.state.child?.count) }
    }
    store.send(.child(.presented(.increment)))
    store.send(.child(.presented(.increment)))
    #expect(heard.counts.withLock { $0 } == [1])
  }

  @Test("A state that is not observed may present, too")
  func unobserved() {
    let state = Unobserved.State(child: Counting.State(count: 1))
    #expect(state.other?.count == 3)
    let store = Store(initialState: state) { Unobserved() }
    store.send(.child(.presented(.increment)))
    #expect(store.state == Unobserved.State(child: Counting.State(count: 2)))
    #expect(store.state.$child.wrappedValue?.count == 2)
  }
}
