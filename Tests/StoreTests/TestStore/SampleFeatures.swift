import SharedState
import SharedStateDependencies
import SharedStateStore
import SharedStateStoreTesting
import Testing

/// A feature with actions to send, which a store and a test store have to carry out in the same way.
struct SampleFeature: Sendable, CustomTestStringConvertible {
  let testDescription: String
  /// Sends the actions to a store, and returns a description of each action and the state after it.
  let runInStore: @Sendable () async -> [String]
  /// The same for a test store.
  let runInTestStore: @Sendable () async -> [String]

  init<Feature: Reducer>(
    _ feature: Feature,
    _ initialState: Feature.State,
    _ actions: Feature.Action...
  ) where Feature.State: Equatable {
    testDescription = "\(Feature.self)"
    runInStore = {
      let steps = Steps()
      let store = Store(initialState: initialState) { Watched(base: feature, steps: steps) }
      for action in actions { await store.send(action).finish() }
      return steps.all + ["\(store.state)"]
    }
    runInTestStore = {
      let steps = Steps()
      let store = TestStore(initialState: initialState) { Watched(base: feature, steps: steps) }
      store.exhaustivity = .off
      for action in actions { await store.send(action).finish() }
      await store.finish()
      return steps.all + ["\(store.state)"]
    }
  }

  /// All sample features.
  static let all = [
    SampleFeature(Levels(), Levels.State(), .child(.ask), .sibling(.ask), .ask),
    SampleFeature(Counter(), Counter.State(), .increment, .echo, .chain(5), .run(3), .merge, .concatenate),
    office,
    SampleFeature(
      Floor { _ in },
      Floor.State(presented: Worker.State(), optional: Worker.State(), desk: .worker(Worker.State())),
      .desk(.worker(.tick)),
      .optional(.tick),
      .presented(.dismiss)
    ),
    SampleFeature(ReducerTests.Built(isFirst: true, number: 2), 0, 1),
    SampleFeature(
      ReducerTests.Folder(),
      ReducerTests.Folder.State(),
      .open,
      .child(.presented(.open)),
      .child(.presented(.child(.presented(.rename("leaf"))))),
      .child(.dismiss)
    ),
  ]

  private static var office: SampleFeature {
    let path = StackState([Worker.State()])
    return SampleFeature(
      Office { _ in },
      Office.State(presented: Worker.State(), path: path, rows: [Worker.State(id: 1)]),
      .own(.look),
      .presented(.presented(.look)),
      .presented(.presented(.leave)),
      .path(.element(id: path.ids[0], action: .look)),
      .path(.push(id: 1000, state: Worker.State(id: 4))),
      .path(.element(id: 1000, action: .leave)),
      .rows(.element(id: 1, action: .tick)),
      .path(.popFrom(id: path.ids[0]))
    )
  }
}

/// Keeps a line for each action that was reduced.
private final class Steps: Sendable {
  private let lines = Locked<[String]>([])

  var all: [String] { lines.value }

  func add(_ line: String) { lines.change { $0.append(line) } }
}

/// Notes each action of a feature, and the state after it.
private struct Watched<Base: Reducer>: Reducer {
  let base: Base
  let steps: Steps

  var body: some Reducer<Base.State, Base.Action> {
    base
    Reduce { state, action in
      steps.add("\(action): \(state)")
      return .none
    }
  }
}

/// Notes which level each of its reducers and effects reads. Its child has a level of its own.
@Reducer
struct Levels {
  struct State: Equatable {
    var child = Level.State()
    var sibling = Level.State()
    var inReducer: [Int] = []
    var inEffect: [Int] = []
  }

  enum Action {
    case child(Level.Action)
    case sibling(Level.Action)
    case ask
    case answer(Int)
  }

  @Dependency(\.level) var level

  var body: some ReducerOf<Self> {
    Scope(state: \.child, action: \.child) { Level().dependency(\.level, 42) }
    Scope(state: \.sibling, action: \.sibling) { Level() }
    Reduce { state, action in
      state.inReducer.append(level)
      switch action {
      case .answer(let level):
        state.inEffect.append(level)
        return .none
      case .ask, .child(.answer), .sibling(.answer):
        return .run { send in await send(.answer(level)) }
      default:
        return .none
      }
    }
  }
}

/// Sends the level that its effect reads.
@Reducer
struct Level {
  struct State: Equatable {
    var inReducer: [Int] = []
    var inEffect: [Int] = []
  }

  enum Action {
    case ask
    case answer(Int)
  }

  @Dependency(\.level) var level

  var body: some ReducerOf<Self> {
    Reduce { state, action in
      state.inReducer.append(level)
      switch action {
      case .ask:
        return .run { send in await send(.answer(level)) }
      case .answer(let level):
        state.inEffect.append(level)
        return .none
      }
    }
  }
}

extension DependencyValues {
  var level: Int {
    get { self[LevelKey.self] }
    set { self[LevelKey.self] = newValue }
  }

  private enum LevelKey: DependencyKey {
    static let liveValue = 0
    static let testValue = 0
  }
}
