import SharedState
import SharedStateStore

/// Has workers at every place where a feature may have children.
@Reducer
struct Floor {
  struct State: Equatable, Identifiable, Sendable {
    var id = 0
    @PresentationState var presented: Worker.State?
    var optional: Worker.State?
    var path = StackState<Worker.State>()
    var rows: IdentifiedArrayOf<Worker.State> = []
    var desk = Desk.State.empty
  }

  enum Action: Equatable, Sendable {
    case presented(PresentationAction<Worker.Action>)
    case optional(Worker.Action)
    case path(StackAction<Worker.State, Worker.Action>)
    case rows(IdentifiedAction<Int, Worker.Action>)
    case desk(Desk.Action)
  }

  let ends: @Sendable (Int) -> Void

  var body: some ReducerOf<Self> {
    Scope(state: \.desk, action: \.desk) { Desk(ends: ends) }
    EmptyReducer()
      .ifLet(\.$presented, action: \.presented) { Worker(ends: ends) }
      .ifLet(\.optional, action: \.optional) { Worker(ends: ends) }
      .forEach(\.path, action: \.path) { Worker(ends: ends) }
      .forEach(\.rows, action: \.rows) { Worker(ends: ends) }
  }
}

/// Has several cases, two of them with a worker.
@Reducer
struct Desk {
  enum State: Equatable, Sendable {
    case worker(Worker.State)
    case other(Worker.State)
    case empty
  }

  enum Action: Equatable, Sendable {
    case worker(Worker.Action)
    case other(Worker.Action)
  }

  let ends: @Sendable (Int) -> Void

  var body: some ReducerOf<Self> {
    Scope(state: \.worker, action: \.worker) { Worker(ends: ends) }
    EmptyReducer().ifCaseLet(\.other, action: \.other) { Worker(ends: ends) }
  }
}

/// Has floors one level further down.
@Reducer
struct Tower {
  struct State: Equatable, Identifiable, Sendable {
    var id = 0
    var floors: IdentifiedArrayOf<Floor.State> = []
  }

  enum Action: Equatable, Sendable {
    case floors(IdentifiedAction<Int, Floor.Action>)
  }

  let ends: @Sendable (Int) -> Void

  var body: some ReducerOf<Self> {
    EmptyReducer().forEach(\.floors, action: \.floors) { Floor(ends: ends) }
  }
}

/// Has floors at every place where a feature may have children, two of them side by side.
@Reducer
struct Building {
  struct State: Sendable {
    var left = Floor.State()
    var right = Floor.State()
    @PresentationState var presented: Floor.State?
    var optional: Floor.State?
    var path = StackState<Floor.State>()
    var rows: IdentifiedArrayOf<Floor.State> = []
    var towers = StackState<Tower.State>()
  }

  enum Action: Sendable {
    case left(Floor.Action)
    case right(Floor.Action)
    case presented(PresentationAction<Floor.Action>)
    case optional(Floor.Action)
    case path(StackAction<Floor.State, Floor.Action>)
    case rows(IdentifiedAction<Int, Floor.Action>)
    case towers(StackAction<Tower.State, Tower.Action>)
    case set(@Sendable (inout State) -> Void)
    case setBehind(@Sendable (inout State) -> Void)
  }

  /// Called when the effect of a worker ends.
  let ends: @Sendable (Int) -> Void
  /// Called after each action, by the last of all reducers.
  var last: @Sendable (inout State, Action) -> Void = { _, _ in }

  var body: some ReducerOf<Self> {
    Scope(state: \.left, action: \.left) { Floor(ends: ends) }
    Scope(state: \.right, action: \.right) { Floor(ends: ends) }
    Reduce { state, action in
      if case .set(let change) = action { change(&state) }
      return .none
    }
    .ifLet(\.$presented, action: \.presented) { Floor(ends: ends) }
    .ifLet(\.optional, action: \.optional) { Floor(ends: ends) }
    .forEach(\.path, action: \.path) { Floor(ends: ends) }
    .forEach(\.rows, action: \.rows) { Floor(ends: ends) }
    .forEach(\.towers, action: \.towers) { Tower(ends: ends) }
    Reduce { state, action in
      if case .setBehind(let change) = action { change(&state) }
      last(&state, action)
      return .none
    }
  }
}
