import SharedState
import SharedStateStore

/// A feature that counts.
@Reducer
struct Counting {
  struct State: Equatable, Sendable { var count = 0 }

  enum Action: Equatable, Sendable {
    case increment
    case run
    case runWithID
    case incrementLater
  }

  var body: some ReducerOf<Self> {
    Reduce { state, action in
      switch action {
      case .increment:
        state.count &+= 1
        return .none
      case .run:
        return .run { _ in }
      case .runWithID:
        return .run { _ in }.cancellable(id: 1)
      case .incrementLater:
        return .send(.increment)
      }
    }
  }
}

/// A feature that counts in a state that is observed.
@Reducer
struct ObservedCounting {
  @ObservableState
  struct State: Equatable, Sendable { var count = 0 }

  enum Action: Equatable, Sendable { case increment }

  var body: some ReducerOf<Self> {
    Reduce { state, _ in
      state.count &+= 1
      return .none
    }
  }
}

/// Contains the counting feature one scope further down.
@Reducer
struct OneScope {
  struct State: Sendable { var child = Counting.State() }
  enum Action: Sendable { case child(Counting.Action) }
  var body: some ReducerOf<Self> { Scope(state: \.child, action: \.child) { Counting() } }
}

@Reducer
struct TwoScopes {
  struct State: Sendable { var child = OneScope.State() }
  enum Action: Sendable { case child(OneScope.Action) }
  var body: some ReducerOf<Self> { Scope(state: \.child, action: \.child) { OneScope() } }
}

@Reducer
struct ThreeScopes {
  struct State: Sendable { var child = TwoScopes.State() }
  enum Action: Sendable { case child(TwoScopes.Action) }
  var body: some ReducerOf<Self> { Scope(state: \.child, action: \.child) { TwoScopes() } }
}

/// Changes a share.
@Reducer
struct Sharing {
  struct State: Sendable { @Shared var count: Int }
  enum Action: Sendable { case increment }
  var body: some ReducerOf<Self> {
    Reduce { state, _ in
      state.$count.withLock { $0 &+= 1 }
      return .none
    }
  }
}

/// One element of many.
@Reducer
struct Item {
  struct State: Equatable, Identifiable, Sendable {
    var id: Int
    var count = 0
    var name = "item"
  }
  enum Action: Sendable {
    case increment
    case wait
  }
  var body: some ReducerOf<Self> {
    Reduce { state, action in
      switch action {
      case .increment:
        state.count &+= 1
        return .none
      case .wait:
        return .run { _ in try await Task.sleep(for: .seconds(3_600)) }
      }
    }
  }
}

/// A feature with a stack of many elements.
@Reducer
struct Stack {
  struct State: Sendable { var items = StackState<Item.State>() }
  enum Action: Sendable { case items(StackActionOf<Item>) }
  var body: some ReducerOf<Self> {
    EmptyReducer().forEach(\.items, action: \.items) { Item() }
  }

  static func makeState(_ count: Int) -> State {
    State(items: StackState((0..<count).map { Item.State(id: $0) }))
  }
}

/// A feature with an identified array of many elements.
@Reducer
struct Rows {
  struct State: Sendable { var items: IdentifiedArrayOf<Item.State> = [] }
  enum Action: Sendable { case items(IdentifiedActionOf<Item>) }
  var body: some ReducerOf<Self> {
    EmptyReducer().forEach(\.items, action: \.items) { Item() }
  }

  static func makeState(_ count: Int) -> State {
    State(items: IdentifiedArray(uniqueElements: (0..<count).map { Item.State(id: $0) }))
  }
}

/// Adds and removes rows.
@Reducer
struct ChangingRows {
  typealias State = Rows.State
  enum Action: Sendable {
    case items(IdentifiedActionOf<Item>)
    case add(Int)
    case remove(Int)
  }
  var body: some ReducerOf<Self> {
    Reduce { state, action in
      switch action {
      case .items: break
      case .add(let id): state.items.append(Item.State(id: id))
      case .remove(let id): state.items.remove(id: id)
      }
      return .none
    }
    .forEach(\.items, action: \.items) { Item() }
  }
}

/// A feature with a stack of many elements, in a state that is observed.
@Reducer
struct ObservedStack {
  @ObservableState
  struct State: Sendable { var items = StackState<Item.State>() }
  enum Action: Sendable { case items(StackActionOf<Item>) }
  var body: some ReducerOf<Self> {
    EmptyReducer().forEach(\.items, action: \.items) { Item() }
  }

  static func makeState(_ count: Int) -> State {
    State(items: StackState((0..<count).map { Item.State(id: $0) }))
  }
}

/// A feature with an identified array of many elements, in a state that is observed.
@Reducer
struct ObservedRows {
  @ObservableState
  struct State: Sendable { var items: IdentifiedArrayOf<Item.State> = [] }
  enum Action: Sendable { case items(IdentifiedActionOf<Item>) }
  var body: some ReducerOf<Self> {
    EmptyReducer().forEach(\.items, action: \.items) { Item() }
  }

  static func makeState(_ count: Int) -> State {
    State(items: IdentifiedArray(uniqueElements: (0..<count).map { Item.State(id: $0) }))
  }
}
