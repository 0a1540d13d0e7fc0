import SharedState
import SharedStateStore
import SharedStateTesting
import Testing

/// A place where a building has a floor.
enum FloorPlace: CaseIterable, Sendable {
  case left
  case right
  case presented
  case optional
  case path
  case rows
  case tower

  func change(_ state: inout Building.State, _ body: (inout Floor.State) -> Void) {
    switch self {
    case .left: body(&state.left)
    case .right: body(&state.right)
    case .presented: state.presented.change(body)
    case .optional: state.optional.change(body)
    case .path: if !state.path.isEmpty { body(&state.path[0]) }
    case .rows: if !state.rows.isEmpty { body(&state.rows[0]) }
    case .tower: if !state.towers.isEmpty { body(&state.towers[0].floors[0]) }
    }
  }

  func floor(in state: Building.State) -> Floor.State? {
    switch self {
    case .left: state.left
    case .right: state.right
    case .presented: state.presented
    case .optional: state.optional
    case .path: state.path.first
    case .rows: state.rows.first
    case .tower: state.towers.first?.floors.first
    }
  }

  func action(_ action: Floor.Action) -> Building.Action {
    switch self {
    case .left: .left(action)
    case .right: .right(action)
    case .presented: .presented(.presented(action))
    case .optional: .optional(action)
    case .path: .path(.element(id: 1, action: action))
    case .rows: .rows(.element(id: 1, action: action))
    case .tower: .towers(.element(id: 1, action: .floors(.element(id: 1, action: action))))
    }
  }
}

extension Optional {
  /// Changes the value, if there is one.
  fileprivate mutating func change(_ body: (inout Wrapped) -> Void) {
    guard var value = self else { return }
    body(&value)
    self = value
  }
}

/// A place where a floor has a worker.
enum WorkerPlace: CaseIterable, Sendable {
  case presented
  case optional
  case path
  case rows
  case desk
  case otherDesk

  func place(_ floor: inout Floor.State) {
    switch self {
    case .presented: floor.presented = Worker.State(id: 5)
    case .optional: floor.optional = Worker.State(id: 5)
    case .path: floor.path[id: 5] = Worker.State(id: 5)
    case .rows: floor.rows = [Worker.State(id: 5)]
    case .desk: floor.desk = .worker(Worker.State(id: 5))
    case .otherDesk: floor.desk = .other(Worker.State(id: 5))
    }
  }

  func remove(_ floor: inout Floor.State) {
    switch self {
    case .presented: floor.presented = nil
    case .optional: floor.optional = nil
    case .path: floor.path = []
    case .rows: floor.rows = []
    case .desk: floor.desk = .other(Worker.State(id: 5))
    case .otherDesk: floor.desk = .empty
    }
  }

  func worker(on floor: Floor.State?) -> Worker.State? {
    switch self {
    case .presented: floor?.presented
    case .optional: floor?.optional
    case .path: floor?.path.first
    case .rows: floor?.rows.first
    case .desk: floor?.desk[case: \.worker]
    case .otherDesk: floor?.desk[case: \.other]
    }
  }

  func action(_ action: Worker.Action) -> Floor.Action {
    switch self {
    case .presented: .presented(.presented(action))
    case .optional: .optional(action)
    case .path: .path(.element(id: 5, action: action))
    case .rows: .rows(.element(id: 5, action: action))
    case .desk: .desk(.worker(action))
    case .otherDesk: .desk(.other(action))
    }
  }
}

/// Children of children, at all places.
@Suite("The identity of grandchildren", .timeLimit(.minutes(5)))
struct NestedIdentityTests {
  private let ended = Locked<[Int]>([])

  private func makeBuilding(
    last: @escaping @Sendable (inout Building.State, Building.Action) -> Void = { _, _ in }
  ) -> StoreOf<Building> {
    let ended = ended
    var state = Building.State(
      presented: Floor.State(id: 1),
      optional: Floor.State(id: 1),
      rows: [Floor.State(id: 1), Floor.State(id: 2)]
    )
    state.path[id: 1] = Floor.State(id: 1)
    state.path[id: 2] = Floor.State(id: 2)
    state.towers[id: 1] = Tower.State(floors: [Floor.State(id: 1)])
    return Store(initialState: state) {
      Building(ends: { id in ended.change { $0.append(id) } }, last: last)
    }
  }

  private func begin(
    _ worker: WorkerPlace,
    at floor: FloorPlace,
    in building: StoreOf<Building>
  ) async throws -> StoreTask {
    building.send(.set { floor.change(&$0) { worker.place(&$0) } })
    let task = building.send(floor.action(worker.action(.start)))
    try await eventually("the effect to run") { worker.worker(on: floor.floor(in: building.state))?.count == 1 }
    return task
  }

  @Test(
    "A grandchild loses its effects when the outermost parent removes it",
    arguments: FloorPlace.allCases,
    WorkerPlace.allCases
  )
  func removal(floor: FloorPlace, worker: WorkerPlace) async throws {
    for isBehind in [false, true] {
      let building = makeBuilding()
      let task = try await begin(worker, at: floor, in: building)
      let remove: @Sendable (inout Building.State) -> Void = { floor.change(&$0) { worker.remove(&$0) } }
      building.send(isBehind ? .setBehind(remove) : .set(remove))
      try await inTime("the end of the effect") { await task.finish() }
    }
    #expect(ended.value == [5, 5])
  }

  @Test(
    "A grandchild that is removed during the action that begins its effect loses the effect",
    arguments: FloorPlace.allCases,
    WorkerPlace.allCases
  )
  func removalMeanwhile(floor: FloorPlace, worker: WorkerPlace) async throws {
    let building = makeBuilding { state, action in
      if case .set = action { return }
      floor.change(&state) { worker.remove(&$0) }
    }
    building.send(.set { floor.change(&$0) { worker.place(&$0) } })
    let task = building.send(floor.action(worker.action(.start)))
    try await inTime("the end of the effect") { await task.finish() }
    #expect(worker.worker(on: floor.floor(in: building.state)) == nil)
    #expect(ended.value.isEmpty)
  }

  @Test(
    "A grandchild keeps its effects when one like it is removed elsewhere",
    arguments: FloorPlace.allCases,
    WorkerPlace.allCases
  )
  func others(floor: FloorPlace, worker: WorkerPlace) async throws {
    let building = makeBuilding()
    let task = try await begin(worker, at: floor, in: building)
    for other in FloorPlace.allCases where other != floor {
      building.send(.set { other.change(&$0) { worker.place(&$0) } })
      building.send(.set { other.change(&$0) { worker.remove(&$0) } })
    }
    #expect(!task.isCancelled)
    building.send(floor.action(worker.action(.tick)))
    #expect(worker.worker(on: floor.floor(in: building.state))?.count == 2)
    #expect(ended.value.isEmpty)
    building.send(floor.action(worker.action(.cancel)))
    try await inTime("the end of the effect") { await task.finish() }
    #expect(ended.value == [5])
  }

  @Test("A grandchild keeps its effects when its parent changes", arguments: FloorPlace.allCases)
  func change(floor: FloorPlace) async throws {
    let building = makeBuilding()
    let task = try await begin(.presented, at: floor, in: building)
    building.send(
      .set { state in
        state.path.append(Floor.State(id: 9))
        state.rows.insert(Floor.State(id: 9), at: 0)
        state.rows.move(fromOffsets: [0], toOffset: 2)
        floor.change(&state) { $0.optional = Worker.State(id: 6) }
      }
    )
    building.send(.set { floor.change(&$0) { $0.optional = nil } })
    #expect(ended.value.isEmpty)
    building.send(.set { floor.change(&$0) { $0.presented = nil } })
    try await inTime("the end of the effect") { await task.finish() }
    #expect(ended.value == [5])
  }

  @Test("Elements of two stacks may have the same identity, but keep their own effects")
  func sameElementIdentity() async throws {
    let building = makeBuilding()
    let left = try await begin(.path, at: .left, in: building)
    let right = try await begin(.path, at: .right, in: building)
    building.send(.left(.path(.popFrom(id: 5))))
    try await inTime("the end of the left one") { await left.finish() }
    #expect(ended.value == [5])
    #expect(!right.isCancelled)
    building.send(.right(.path(.element(id: 5, action: .tick))))
    #expect(building.right.path[id: 5]?.count == 2)
    building.send(.right(.path(.element(id: 5, action: .cancel))))
    try await inTime("the end of the right one") { await right.finish() }
  }
}
