import SharedStateStore
import SharedStateStoreCombine
import SharedStateTesting
import Testing

import OpenCombine

/// Sends numbers at the times of a scheduler.
private struct Delayed: Reducer {
  struct State: Equatable, Sendable { var received: [Int] = [] }

  enum Action: Sendable {
    case debounce(Int)
    case throttle(Int, latest: Bool)
    case received(Int)
    case cancel
  }

  let scheduler: ManualScheduler

  func reduce(into state: inout State, action: Action) -> Effect<Action> {
    switch action {
    case .debounce(let number):
      return .send(.received(number)).debounce(id: "id", for: .milliseconds(100), scheduler: scheduler)
    case .throttle(let number, let latest):
      return .send(.received(number))
        .throttle(id: "id", for: .milliseconds(100), scheduler: scheduler, latest: latest)
    case .received(let number):
      state.received.append(number)
      return .none
    case .cancel:
      return .cancel(id: "id")
    }
  }
}

@Suite("Effects on a scheduler", .timeLimit(.minutes(5)))
struct SchedulerTests {
  private let scheduler: ManualScheduler
  private let store: StoreOf<Delayed>

  init() {
    let scheduler = ManualScheduler()
    self.scheduler = scheduler
    store = Store(initialState: Delayed.State()) { Delayed(scheduler: scheduler) }
  }

  private func waits(_ count: Int) async throws {
    let scheduler = scheduler
    try await eventually("\(count) to wait for the scheduler") { scheduler.waitingCount == count }
  }

  private func finish(_ task: StoreTask) async throws {
    try await inTime("the end of the effect") { await task.finish() }
  }

  @Test("A debounced effect begins exactly when its time is over")
  func debounce() async throws {
    let task = store.send(.debounce(1))
    try await waits(1)
    scheduler.advance(by: .milliseconds(99))
    #expect(scheduler.waitingCount == 1)
    #expect(store.received == [])
    scheduler.advance(by: .milliseconds(1))
    try await finish(task)
    #expect(store.received == [1])
  }

  @Test("A debounced effect replaces the previous one and restarts the delay")
  func debounceAgain() async throws {
    let first = store.send(.debounce(1))
    try await waits(1)
    scheduler.advance(by: .milliseconds(60))
    let second = store.send(.debounce(2))
    try await finish(first)
    try await waits(2)
    scheduler.advance(by: .milliseconds(60))
    #expect(scheduler.waitingCount == 1)
    #expect(store.received == [])
    scheduler.advance(by: .milliseconds(40))
    try await finish(second)
    #expect(store.received == [2])
  }

  @Test("A debounced effect that is cancelled sends nothing")
  func debounceCancelled() async throws {
    let task = store.send(.debounce(1))
    try await waits(1)
    store.send(.cancel)
    try await finish(task)
    scheduler.advance(by: .seconds(1))
    #expect(store.received == [])
    let next = store.send(.debounce(2))
    try await waits(1)
    scheduler.advance(by: .milliseconds(100))
    try await finish(next)
    #expect(store.received == [2])
  }

  @Test(
    "The first throttled action is sent immediately, and only one of the early ones is sent later",
    arguments: [true, false]
  )
  func throttle(latest: Bool) async throws {
    try await finish(store.send(.throttle(1, latest: latest)))
    #expect(store.received == [1])
    var tasks: [StoreTask] = []
    for number in 2...4 {
      tasks.append(store.send(.throttle(number, latest: latest)))
      try await waits(number - 1)
    }
    scheduler.advance(by: .milliseconds(99))
    #expect(store.received == [1])
    scheduler.advance(by: .milliseconds(1))
    for task in tasks { try await finish(task) }
    #expect(store.received == [1, latest ? 4 : 2])
    // The next action waits for the same time again.
    let next = store.send(.throttle(5, latest: latest))
    try await waits(1)
    scheduler.advance(by: .milliseconds(99))
    #expect(scheduler.waitingCount == 1)
    scheduler.advance(by: .milliseconds(1))
    try await finish(next)
    #expect(store.received == [1, latest ? 4 : 2, 5])
  }

  @Test("A throttled action is sent immediately if the interval since the last one is over")
  func throttleLater() async throws {
    try await finish(store.send(.throttle(1, latest: true)))
    scheduler.advance(by: .milliseconds(100))
    try await finish(store.send(.throttle(2, latest: true)))
    #expect(store.received == [1, 2])
  }

  @Test("A cancelled throttled effect sends nothing, and its interval keeps running")
  func throttleCancelled() async throws {
    try await finish(store.send(.throttle(1, latest: true)))
    let task = store.send(.throttle(2, latest: true))
    try await waits(1)
    store.send(.cancel)
    try await finish(task)
    scheduler.advance(by: .milliseconds(50))
    let next = store.send(.throttle(3, latest: true))
    try await waits(2)
    #expect(store.received == [1])
    scheduler.advance(by: .milliseconds(50))
    try await finish(next)
    #expect(store.received == [1, 3])
  }
}
