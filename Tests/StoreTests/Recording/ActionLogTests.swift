import Foundation
import SharedState
import SharedStateDependencies
import SharedStateStore
import SharedStateTesting
import Testing

/// Counts, with effects, a stack and a share.
@Reducer
private struct Till {
  struct State: Equatable, Codable, Sendable {
    var total = 0
    var rows = StackState<Item.State>()
    var openedAt: Date?
  }

  enum Action: Equatable, Codable, Sendable {
    case add(Int)
    case addLater(Int)
    case addTwice(Int)
    case open
    case newRow
    case rows(StackActionOf<Item>)
  }

  @Reducer
  struct Item {
    struct State: Equatable, Codable, Sendable { var count = 0 }
    enum Action: Equatable, Codable, Sendable { case increment }

    var body: some ReducerOf<Self> {
      Reduce { state, _ in
        state.count += 1
        return .none
      }
    }
  }

  /// The factor of each addition. Another factor makes it another reducer.
  var factor = 1
  @Dependency(\.date.now) var now

  var body: some ReducerOf<Self> {
    Reduce { state, action in
      switch action {
      case .add(let amount):
        state.total += amount * factor
        return .none
      case .addLater(let amount):
        return .run { send in
          await send(.add(amount))
          await send(.newRow)
        }
      case .addTwice(let amount):
        return .concatenate(.send(.add(amount)), .send(.add(amount)))
      case .open:
        state.openedAt = now
        return .none
      case .newRow:
        state.rows.append(Item.State())
        return .none
      case .rows:
        return .none
      }
    }
    .forEach(\.rows, action: \.rows) { Item() }
  }
}

private struct SharedTill: Reducer {
  struct State: Sendable { @Shared(.inMemory("till")) var total = 0 }
  enum Action: Codable, Sendable { case add(Int) }

  func reduce(into state: inout State, action: Action) -> Effect<Action> {
    if case .add(let amount) = action { state.$total.withLock { $0 += amount } }
    return .none
  }
}

private struct Crew: Reducer {
  struct State: Sendable {
    var names: Set = ["b", "a"]
    var total = 1
  }
  enum Action: Codable, Sendable { case leave }

  func reduce(into state: inout State, action: Action) -> Effect<Action> { .none }
}

@Suite("An action log", .timeLimit(.minutes(5)))
struct ActionLogTests {
  private func makeSession(limit: Int = 100) async throws -> (log: ActionLogOf<Till>, store: StoreOf<Till>) {
    let log = ActionLogOf<Till>(limit: limit)
    let store = Store(initialState: Till.State(), recording: log) {
      Till()
    } withDependencies: {
      $0.date.now = Date(timeIntervalSince1970: 7)
    }
    store.send(.open)
    store.send(.add(1))
    let task = store.send(.addLater(2))
    try await inTime("the end of the effect") { await task.finish() }
    store.send(.addTwice(3))
    store.send(.newRow)
    store.send(.rows(.element(id: store.rows.ids[1], action: .increment)))
    store.send(.rows(.push(id: 77, state: Till.Item.State(count: 5))))
    store.send(.rows(.popFrom(id: 77)))
    return (log, store)
  }

  private func replay(_ log: ActionLogOf<Till>, factor: Int = 1) throws(ReplayError) -> Till.State {
    try Store.replay(log) {
      Till(factor: factor)
    } withDependencies: {
      $0.date.now = Date(timeIntervalSince1970: 7)
    }
  }

  @Test("A log distinguishes actions that effects send from all other actions")
  func origins() async throws {
    let (log, _) = try await makeSession()
    #expect(
      log.actions.map(\.action).prefix(8) == [
        .open, .add(1), .addLater(2), .add(2), .newRow, .addTwice(3), .add(3), .add(3),
      ]
    )
    #expect(log.actions.prefix(8).map(\.isSentByEffect) == [false, false, false, true, true, false, true, true])
    #expect(log.actions.map(\.number) == Array(1...12))
    #expect(log.droppedCount == 0)
  }

  @Test("An action that another store's reducer sends is not recorded as sent by an effect")
  func sentInReducer() {
    let log = ActionLog<Int, Int>()
    let store = Store(initialState: 0, recording: log) {
      Reduce<Int, Int> { state, action in
        state += action
        return .none
      }
    }
    let other = Store(initialState: 0) {
      Reduce<Int, Int> { _, action in
        store.send(action)
        return .none
      }
    }
    other.send(4)
    #expect(log.actions == [RecordedAction(number: 1, action: 4, isSentByEffect: false)])
    #expect(store.state == 4)
  }

  @Test("A replay ends in the same state, with the same identities, and runs no effects")
  func same() async throws {
    let (log, store) = try await makeSession()
    let state = try replay(log)
    #expect(state == store.state)
    #expect(state.total == 9)
    #expect(log.actions.count == 12)
  }

  @Test("A log keeps only the last actions, and a replay begins with the state before them")
  func bound() async throws {
    for limit in 1...13 {
      let (log, store) = try await makeSession(limit: limit)
      #expect(log.actions.count == min(limit, 12))
      #expect(log.droppedCount == max(0, 12 - limit))
      #expect(log.actions.last?.number == 12)
      #expect(try replay(log) == store.state)
    }
  }

  @Test("A replay with a different reducer names the first action after which the state differs")
  func otherReducer() async throws {
    let (log, _) = try await makeSession(limit: 9)
    let error = #expect(throws: ReplayError.self) { try replay(log, factor: 10) }
    #expect(error?.number == 4)
    #expect(
      error?.description == """
        The state of 'Till' is not the recorded one after action 4, which an effect has sent:

            Till.Action.add(2)

              Till.State(
            -   total: 3,
            +   total: 21,
                rows: [:],
                openedAt: Date(1970-01-01T00:00:07.000Z)
              )

        (Recorded: −, Replayed: +)
        """
    )
  }

  @Test("A replay with a different dependency names the action that used it")
  func otherDependency() async throws {
    let (log, _) = try await makeSession()
    let error = #expect(throws: ReplayError.self) {
      try Store.replay(log) {
        Till()
      } withDependencies: {
        $0.date.now = Date(timeIntervalSince1970: 8)
      }
    }
    #expect(error?.number == 1)
    #expect(error?.description.contains("which a caller has sent:\n\n    Till.Action.open\n") == true)
  }

  @Test("A log is written as lines of JSON, and read again", arguments: [5, 100])
  func lines(limit: Int) async throws {
    let (log, store) = try await makeSession(limit: limit)
    let data = try log.jsonLines()
    let lines = String(decoding: data, as: UTF8.self).split(separator: "\n")
    #expect(lines.count == 1 + log.actions.count)
    #expect(lines.last?.hasPrefix(#"{"action":{"rows":{"_0":{"popFrom":{"id":77}}}},"digest":""#) == true)
    let read = try ActionLogOf<Till>(jsonLines: data)
    #expect(read.actions == log.actions)
    #expect(read.droppedCount == log.droppedCount)
    #expect(try read.jsonLines() == data)
    if limit == 100 {
      #expect(try replay(read) == store.state)
      let error = #expect(throws: ReplayError.self) { try replay(read, factor: 10) }
      #expect(error?.number == 2)
      #expect(error?.description.contains("total: 10") == true)
    }
  }

  @Test("A stack in a log's first state loses its identities in JSON, and a replay reports that")
  func lostIdentities() throws {
    let log = ActionLogOf<Till>(limit: 1)
    let store = Store(initialState: Till.State(), recording: log) { Till() }
    store.send(.rows(.push(id: 9, state: Till.Item.State())))
    store.send(.add(1))
    let read = try ActionLogOf<Till>(jsonLines: log.jsonLines())
    let error = #expect(throws: ReplayError.self) { try replay(read) }
    #expect(error?.number == nil)
    #expect(error?.description.hasPrefix("The log of 'Till' does not have the state before its first") == true)
    #expect(try Store.replay(read, initialState: log.initialState) { Till() } == store.state)
  }

  @Test("An unreadable line is named with its error, but without its values")
  func corruptedLine() async throws {
    let (log, _) = try await makeSession()
    let lines = String(decoding: try log.jsonLines(), as: UTF8.self).split(separator: "\n").map(String.init)
    func read(_ change: (inout [String]) -> Void) -> CorruptedActionLog? {
      var changed = lines
      change(&changed)
      return #expect(throws: CorruptedActionLog.self) {
        try ActionLogOf<Till>(jsonLines: Data(changed.joined(separator: "\n").utf8))
      }
    }
    #expect(read { $0 = [] }?.line == 1)
    let cut = read { $0[3].removeLast(5) }
    #expect(cut?.line == 4)
    #expect("\(try #require(cut))" == "Line 4 of the action log cannot be read: the data are corrupted.")
    #expect(read { $0[2] = "" }?.line == 3)
    #expect(read { $0[0].removeFirst() }?.line == 1)
    let unknown = read { $0[5] = #"{"action":{"add":{"_0":"secret"}},"digest":"","from":"outside","nextElement":0}"# }
    #expect(unknown?.line == 6)
    #expect(unknown?.reason == "expected Int at action.add._0")
    let origin = read { $0[5] = #"{"action":{"open":{}},"digest":"","from":"elsewhere","nextElement":0}"# }
    #expect(origin?.reason == "the data are corrupted at from")
  }

  @Test("A log has no lines for a state that is not Codable, and a replay asks for the state")
  func uncodedState() throws {
    struct State: Equatable, Sendable { var total = 0 }
    let log = ActionLog<State, Int>()
    let store = Store(initialState: State(), recording: log) {
      Reduce<State, Int> { state, action in
        state.total += action
        return .none
      }
    }
    store.send(1)
    store.send(2)
    let read = try ActionLog<State, Int>(jsonLines: log.jsonLines())
    func replay(_ initialState: State?) throws -> State {
      try Store.replay(read, initialState: initialState) {
        Reduce<State, Int> { state, action in
          state.total += action
          return .none
        }
      }
    }
    #expect(throws: ReplayError.self) { try replay(nil) }
    #expect(throws: ReplayError.self) { try replay(State(total: 1)) }
    #expect(try replay(State()) == store.state)
  }

  @Test("For a state with shares, a log knows their values after each action")
  func shares() throws {
    let log = ActionLogOf<SharedTill>()
    let store = Store(initialState: SharedTill.State(), recording: log) { SharedTill() }
    store.send(.add(1))
    store.send(.add(2))
    #expect(log.initialState == nil)
    let read = try ActionLogOf<SharedTill>(jsonLines: log.jsonLines())
    // The replay has shares of its own.
    func replay(_ total: Int) throws -> Int {
      try withDependencies {
        $0.defaultInMemoryStorage = InMemoryStorage()
      } operation: {
        try Store.replay(read, initialState: SharedTill.State(total: total)) { SharedTill() }.total
      }
    }
    #expect(try replay(0) == 3)
    #expect(throws: ReplayError.self) { try replay(1) }
    #expect(store.total == 3)
  }

  @Test("A digest is the same in every process, so a test can replay a program's log")
  func digest() throws {
    let log = ActionLogOf<Crew>()
    _ = Store(initialState: Crew.State(), recording: log) { Crew() }
    let lines = String(decoding: try log.jsonLines(), as: UTF8.self)
    // The hash of the lines 'names[]: "a"', 'names[]: "b"' and 'total: 1'.
    #expect(lines == #"{"digest":"35de28ba0b239a05","dropped":0}"# + "\n")
  }

  @Test("Actions of many threads are recorded in the order of their reduction")
  func threads() async throws {
    let log = ActionLogOf<Till>(limit: 4_000)
    let store = Store(initialState: Till.State(), recording: log) { Till() }
    try await inTime("the threads") {
      await withTaskGroup(of: Void.self) { group in
        for thread in 0..<4 {
          group.addTask {
            for number in 0..<500 { store.send(number.isMultiple(of: 7) ? .addTwice(thread) : .add(thread)) }
          }
        }
      }
    }
    #expect(log.actions.count { !$0.isSentByEffect } == 2_000)
    #expect(try Store.replay(log) { Till() } == store.state)
  }
}
