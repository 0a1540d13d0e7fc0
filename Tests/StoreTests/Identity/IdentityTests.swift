import SharedState
import SharedStateDependencies
import SharedStateStore
import SharedStateTesting
import Testing

/// A place of a child that may go.
enum ChildKind: CaseIterable, Sendable {
  case presented
  case optional
  case stack
  case array

  func action(_ action: Worker.Action, of id: Int) -> Office.Action {
    switch self {
    case .presented: .presented(.presented(action))
    case .optional: .optional(action)
    case .stack: .path(.element(id: StackElementID(integerLiteral: id), action: action))
    case .array: .rows(.element(id: id, action: action))
    }
  }

  /// Puts a worker at this place.
  func place(_ id: Int) -> @Sendable (inout Office.State) -> Void {
    { state in
      switch self {
      case .presented: state.presented = Worker.State(id: id)
      case .optional: state.optional = Worker.State(id: id)
      case .stack: state.path[id: StackElementID(integerLiteral: id)] = Worker.State(id: id)
      case .array: state.rows.append(Worker.State(id: id))
      }
    }
  }

  /// Removes the worker at this place.
  func remove(_ id: Int) -> @Sendable (inout Office.State) -> Void {
    { state in
      switch self {
      case .presented: state.presented = nil
      case .optional: state.optional = nil
      case .stack: state.path.pop(from: StackElementID(integerLiteral: id))
      case .array: state.rows.remove(id: id)
      }
    }
  }

  func worker(_ id: Int, in state: Office.State) -> Worker.State? {
    switch self {
    case .presented: state.presented
    case .optional: state.optional
    case .stack: state.path[id: StackElementID(integerLiteral: id)]
    case .array: state.rows[id: id]
    }
  }
}

@Suite("The identity of a child", .timeLimit(.minutes(5)))
struct IdentityTests {
  private let ended = Locked<Set<Int>>([])

  private func makeOffice() -> StoreOf<Office> {
    let ended = ended
    return Store(initialState: Office.State()) {
      Office { id in ended.change { _ = $0.insert(id) } }
    }
  }

  private func begin(_ kind: ChildKind, _ id: Int, in office: StoreOf<Office>) async throws -> StoreTask {
    office.send(.set(kind.place(id)))
    let task = office.send(kind.action(.start, of: id))
    try await eventually("the effect to run") { kind.worker(id, in: office.state)?.count == 1 }
    return task
  }

  @Test("A child loses its effects when any reducer removes it", arguments: ChildKind.allCases, [false, true])
  func removal(kind: ChildKind, isBehind: Bool) async throws {
    let office = makeOffice()
    let task = try await begin(kind, 1, in: office)
    office.send(isBehind ? .setBehind(kind.remove(1)) : .set(kind.remove(1)))
    try await inTime("the end of the effect") { await task.finish() }
    #expect(ended.value == [1])
    #expect(kind.worker(1, in: office.state) == nil)
  }

  @Test("A child whose whole parent is replaced loses its effects", arguments: ChildKind.allCases, [false, true])
  func replacedParent(kind: ChildKind, isBehind: Bool) async throws {
    let office = makeOffice()
    let task = try await begin(kind, 1, in: office)
    let replace: @Sendable (inout Office.State) -> Void = { $0 = Office.State() }
    office.send(isBehind ? .setBehind(replace) : .set(replace))
    try await inTime("the end of the effect") { await task.finish() }
    #expect(ended.value == [1])
  }

  @Test("A replaced child loses its effects", arguments: [ChildKind.presented, .optional])
  func replacement(kind: ChildKind) async throws {
    let office = makeOffice()
    let task = try await begin(kind, 1, in: office)
    office.send(.setBehind(kind.place(2)))
    try await inTime("the end of the effect") { await task.finish() }
    #expect(ended.value == [1])
    #expect(kind.worker(2, in: office.state) == Worker.State(id: 2))
  }

  @Test("A presentation that ends and begins again during one action loses its effects")
  func anew() async throws {
    let office = makeOffice()
    let task = try await begin(.presented, 1, in: office)
    office.send(
      .set { state in
        state.presented = nil
        state.presented = Worker.State(id: 1)
      }
    )
    try await inTime("the end of the effect") { await task.finish() }
    #expect(office.state.presented == Worker.State(id: 1))
  }

  @Test("A child that changes keeps its effects", arguments: ChildKind.allCases)
  func change(kind: ChildKind) async throws {
    let office = makeOffice()
    let task = try await begin(kind, 1, in: office)
    office.send(
      .set { state in
        state.presented?.count += 1
        state.optional?.count += 1
        state.path[id: 1]?.count += 1
        state.rows[id: 1]?.count += 1
        if let presented = state.presented { state.presented = presented }
      }
    )
    office.send(kind.action(.tick, of: 1))
    #expect(kind.worker(1, in: office.state)?.count == 3)
    #expect(ended.value.isEmpty)
    task.cancel()
    try await inTime("the end of the effect") { await task.finish() }
  }

  @Test("A child cancels its own effects, but not those of its parent or siblings", arguments: ChildKind.allCases)
  func siblings(kind: ChildKind) async throws {
    let office = makeOffice()
    var tasks: [ChildKind: StoreTask] = [:]
    for other in ChildKind.allCases { tasks[other] = try await begin(other, 1, in: office) }
    let own = office.send(.own(.start))
    office.send(kind.action(.cancel, of: 1))
    let task = tasks[kind]
    try await inTime("the end of the effect") { await task?.finish() }
    #expect(ended.value == [1])
    ended.change { $0 = [] }
    for other in ChildKind.allCases where other != kind {
      #expect(tasks[other]?.isCancelled == false)
      office.send(other.action(.tick, of: 1))
      #expect(other.worker(1, in: office.state)?.count == 2)
    }
    #expect(ended.value.isEmpty)
    own.cancel()
    for task in tasks.values { task.cancel() }
    for task in tasks.values { try await inTime("the end of the effects") { await task.finish() } }
    try await inTime("the end of the parent's effect") { await own.finish() }
  }

  @Test("A parent also cancels the effects of its children", arguments: ChildKind.allCases)
  func parent(kind: ChildKind) async throws {
    let office = makeOffice()
    let task = try await begin(kind, 1, in: office)
    office.send(.cancel)
    try await inTime("the end of the effect") { await task.finish() }
    #expect(ended.value == [1])
  }

  @Test("dismiss removes a child when an effect of the child calls it", arguments: [ChildKind.presented, .stack])
  func dismiss(kind: ChildKind) async throws {
    let office = makeOffice()
    let task = try await begin(kind, 1, in: office)
    let leaving = office.send(kind.action(.leave, of: 1))
    try await inTime("the end of all effects") {
      await leaving.finish()
      await task.finish()
    }
    #expect(kind.worker(1, in: office.state) == nil)
    #expect(ended.value == [1])
  }

  @Test("A dismissal does not remove a child that the parent presents in the meantime")
  func lateDismissal() async throws {
    let office = Store(initialState: Office.State()) {
      Reduce<Office.State, Office.Action> { state, action in
        if action == .presented(.dismiss) { state.presented = Worker.State(id: 2) }
        return .none
      }
      .ifLet(\.$presented, action: \.presented) { Worker(ends: { _ in }) }
      Reduce { state, action in
        if case .set(let change) = action { change(&state) }
        return .none
      }
    }
    office.send(.set(ChildKind.presented.place(1)))
    office.send(.presented(.dismiss))
    #expect(office.state.presented == Worker.State(id: 2))
  }

  @Test("isPresented is true only for a child that can be dismissed", arguments: [ChildKind.presented, .stack])
  func isPresented(kind: ChildKind) {
    let office = makeOffice()
    office.send(.set(kind.place(1)))
    office.send(kind.action(.look, of: 1))
    #expect(kind.worker(1, in: office.state)?.sawPresented == true)
    office.send(.own(.look))
    #expect(office.own.sawPresented == false)
  }

  @Test("push adds an element at the top, and popFrom removes an element and those above it")
  func stack() {
    let office = makeOffice()
    office.send(.path(.push(id: 1, state: Worker.State(id: 1))))
    office.send(.path(.push(id: 2, state: Worker.State(id: 2))))
    office.send(.path(.push(id: 3, state: Worker.State(id: 3))))
    #expect(office.path.map(\.id) == [1, 2, 3])
    office.send(.path(.popFrom(id: 2)))
    #expect(office.path.map(\.id) == [1])
  }

  @Test("A new element has another identity than every element that was pushed")
  func newIdentity() {
    let office = makeOffice()
    office.send(.path(.push(id: 7, state: Worker.State(id: 1))))
    office.send(.path(.popFrom(id: 7)))
    office.send(.set { $0.path.append(Worker.State(id: 2)) })
    #expect(office.path.ids == [8])
  }

  @Test("A new element has another identity than elements from elsewhere, and is above them")
  func newIdentityAboveOthers() {
    let stack = withDependencies {
      $0.stackElementID = .incrementing
    } operation: {
      StackState([1, 2, 3])
    }
    withDependencies {
      $0.stackElementID = .incrementing
    } operation: {
      var copy = stack
      copy.append(4)
      #expect(copy.ids == [0, 1, 2, 3])
      copy[id: 9] = 10
      copy.insert(0, at: 0)
      copy.append(11)
      #expect(copy.ids == [10, 0, 1, 2, 3, 9, 11])
      #expect(copy.ids.map { copy[id: $0] } == [0, 1, 2, 3, 4, 10, 11])
    }
  }

  @Test("Elements that stay keep their effects, whichever others come and go")
  func stackOfMany() async throws {
    let office = makeOffice()
    let first = try await begin(.stack, 101, in: office)
    let second = try await begin(.stack, 102, in: office)
    let third = try await begin(.stack, 103, in: office)
    office.send(.set { $0.path.append(Worker.State(id: 9)) })
    office.send(.set { $0.path.insert(Worker.State(id: 8), at: 1) })
    #expect(ended.value.isEmpty)
    office.send(.set { state in state.path.removeAll { $0.id == 102 } })
    try await inTime("the end of the second") { await second.finish() }
    #expect(ended.value == [102])
    office.send(.set { $0.path = StackState($0.path.dropFirst()) })
    try await inTime("the end of the others") {
      await first.finish()
      await third.finish()
    }
    #expect(ended.value == [101, 102, 103])
  }

  @Test("An action for an absent child is reported with its feature", arguments: ChildKind.allCases)
  func missing(kind: ChildKind) async {
    let problem =
      switch kind {
      case .presented: "was sent an action of a child that is not presented"
      case .optional: "was sent an action of a child whose state is not there"
      case .stack: "was sent an action of an element that is not in the stack"
      case .array: "was sent an action of an element that is not there"
      }
    let office = makeOffice()
    withKnownIssue {
      _ = office.send(kind.action(.tick, of: 1))
    } matching: { issue in
      issue.text?.hasPrefix("'Office' \(problem):\n\n    Office.Action.") == true
    }
  }

  @Test("Stores of children send and read the child's part")
  func scopes() throws {
    let office = makeOffice()
    for kind in ChildKind.allCases { office.send(.set(kind.place(1))) }
    let own = office.scope(state: \.own, action: \.own)
    own.send(.tick)
    #expect(own.count == 1)
    let presented = try #require(office.scope(state: \.$presented, action: \.presented))
    presented.send(.tick)
    #expect(office.state.presented?.count == 1)
    let optional = try #require(office.scope(state: \.optional, action: \.optional))
    optional.send(.tick)
    #expect(optional.count == 1)
    office.send(.set { $0.optional = nil })
    #expect(optional.count == 1)
    #expect(office.scope(state: \.optional, action: \.optional) == nil)
    office.scope(state: \.rows, action: \.rows)[0].send(.tick)
    office.scope(state: \.path, action: \.path)[0].send(.tick)
    #expect(office.rows[id: 1]?.count == 1)
    #expect(office.path[id: 1]?.count == 1)
    office.scope(state: \.self, action: \.self).send(.own(.tick))
    #expect(office.own.count == 2)
  }
}
