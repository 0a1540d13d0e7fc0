import SharedState
import SharedStateStore
import SharedStateTesting
import Testing

/// One of two workers, or none.
@Reducer(state: .equatable, action: .equatable)
enum Shift {
  case day(Worker = Worker(ends: { _ in }))
  case night(Worker = Worker(ends: { _ in }))
  case nobody

  static func make(_ isDay: Bool, _ id: Int) -> State {
    isDay ? .day(Worker.State(id: id)) : .night(Worker.State(id: id))
  }
}

/// Has shifts at every place where a feature may have children.
@Reducer
struct Factory {
  struct State: Sendable {
    var own = Shift.State.nobody
    @PresentationState var presented: Shift.State?
    var optional: Shift.State?
    var path = StackState<Shift.State>()
    var rows = StackState<Row.State>()
  }

  enum Action: Sendable {
    case own(Shift.Action)
    case presented(PresentationAction<Shift.Action>)
    case optional(Shift.Action)
    case path(StackActionOf<Shift>)
    case rows(StackActionOf<Row>)
    case set(@Sendable (inout State) -> Void)
    case setBehind(@Sendable (inout State) -> Void)
  }

  /// Has a shift as a part of its state.
  @Reducer
  struct Row {
    struct State: Sendable { var shift = Shift.State.nobody }
    enum Action: Sendable { case shift(Shift.Action) }

    var body: some ReducerOf<Self> {
      Scope(state: \.shift, action: \.shift) { Shift.body }
    }
  }

  var body: some ReducerOf<Self> {
    Scope(state: \.own, action: \.own) { Shift.body }
    Reduce { state, action in
      if case .set(let change) = action { change(&state) }
      return .none
    }
    .ifLet(\.$presented, action: \.presented)
    .ifLet(\.optional, action: \.optional) { Shift.body }
    .forEach(\.path, action: \.path)
    .forEach(\.rows, action: \.rows) { Row() }
    Reduce { state, action in
      if case .setBehind(let change) = action { change(&state) }
      return .none
    }
  }
}

@Suite("The identity of children in cases", .timeLimit(.minutes(5)))
struct CaseIdentityTests {
  enum Place: CaseIterable, Sendable {
    case own
    case presented
    case optional
    case path
    case rows

    func set(_ shift: Shift.State) -> @Sendable (inout Factory.State) -> Void {
      { state in
        switch self {
        case .own: state.own = shift
        case .presented: state.presented = shift
        case .optional: state.optional = shift
        case .path: state.path[id: 1] = shift
        case .rows: state.rows[id: 1] = Factory.Row.State(shift: shift)
        }
      }
    }

    func shift(in state: Factory.State) -> Shift.State? {
      switch self {
      case .own: state.own
      case .presented: state.presented
      case .optional: state.optional
      case .path: state.path[id: 1]
      case .rows: state.rows[id: 1]?.shift
      }
    }

    func action(_ action: Shift.Action) -> Factory.Action {
      switch self {
      case .own: .own(action)
      case .presented: .presented(.presented(action))
      case .optional: .optional(action)
      case .path: .path(.element(id: 1, action: action))
      case .rows: .rows(.element(id: 1, action: .shift(action)))
      }
    }
  }

  private static let others: [Shift.State] = [.nobody, Shift.make(false, 1), Shift.make(true, 2)]

  private let factory = Store(initialState: Factory.State()) { Factory() }

  private func begin(_ place: Place) async throws -> StoreTask {
    factory.send(.set(place.set(Shift.make(true, 1))))
    let task = factory.send(place.action(.day(.start)))
    let factory = factory
    try await eventually("the effect to run") { place.shift(in: factory.state)?.day?.count == 1 }
    return task
  }

  @Test(
    "A child in a case loses its effects when a parent assigns another case, or another identity in the case",
    arguments: Place.allCases,
    Self.others
  )
  func another(place: Place, shift: Shift.State) async throws {
    for isBehind in [false, true] {
      let task = try await begin(place)
      factory.send(isBehind ? .setBehind(place.set(shift)) : .set(place.set(shift)))
      #expect(place.shift(in: factory.state) == shift)
      try await inTime("the end of the effect") { await task.finish() }
    }
  }

  @Test("A child in a case keeps its effects when it changes, and still receives actions", arguments: Place.allCases)
  func same(place: Place) async throws {
    let task = try await begin(place)
    factory.send(.set(place.set(.day(Worker.State(id: 1, count: 5)))))
    factory.send(place.action(.day(.tick)))
    #expect(place.shift(in: factory.state)?.day?.count == 6)
    // The effect can still be found by its id.
    factory.send(place.action(.day(.cancel)))
    try await inTime("the end of the effect") { await task.finish() }
  }

  @Test("A child that changes its own case loses its effects", arguments: Place.allCases)
  func leaving(place: Place) async throws {
    let factory = Store(initialState: Factory.State()) {
      Factory()
      // Stands for a child reducer that switches to another case.
      Reduce { state, action in
        switch action {
        case .own(.day(.cancel)), .presented(.presented(.day(.cancel))), .optional(.day(.cancel)),
          .path(.element(id: _, action: .day(.cancel))), .rows(.element(id: _, action: .shift(.day(.cancel)))):
          place.set(.night(Worker.State(id: 1)))(&state)
        default: break
        }
        return .none
      }
    }
    factory.send(.set(place.set(Shift.make(true, 1))))
    let task = factory.send(place.action(.day(.start)))
    try await eventually("the effect to run") { place.shift(in: factory.state)?.day?.count == 1 }
    factory.send(place.action(.day(.cancel)))
    try await inTime("the end of the effect") { await task.finish() }
    #expect(place.shift(in: factory.state) == Shift.make(false, 1))
  }
}
