import SharedStateTesting
import Synchronization
import Testing

@testable import SharedStateStore

/// Begins effects that go on until they are cancelled, and effects that end by themselves.
private struct Racing: Reducer {
  typealias State = Int

  enum Action: Sendable {
    case start
    case short
    case cancel
    case tick
  }

  let running: Running

  /// Counts effects.
  final class Running: Sendable {
    let begun = Atomic(0)
    let ended = Atomic(0)
    var isEven: Bool {
      let ended = ended.load(ordering: .sequentiallyConsistent)
      return begun.load(ordering: .sequentiallyConsistent) == ended
    }
  }

  func reduce(into state: inout Int, action: Action) -> Effect<Action> {
    let running = running
    switch action {
    case .start:
      return .concatenate(
        .run { send in
          running.begun.add(1, ordering: .sequentiallyConsistent)
          await send(.tick)
          await Gate().wait()
          await send(.tick)
          running.ended.add(1, ordering: .sequentiallyConsistent)
        },
        .send(.tick)
      )
      .cancellable(id: 1)
    case .short:
      return .merge(
        .run { send in
          await send(.tick)
          await send(.tick)
        }
        .cancellable(id: 1),
        .run { send in await send(.tick) }
      )
    case .cancel:
      return .cancel(id: 1)
    case .tick:
      state += 1
      return .none
    }
  }
}

@Suite("EffectNode", .timeLimit(.minutes(5)))
struct EffectNodeTests {
  @Test("Nothing begins in a node once it has reported its end")
  func ending() {
    let node = EffectNode()
    let began = Locked<[Bool]>([])
    node.whenEnded { began.change { $0.append(node.tryBegin()) } }
    #expect(node.tryBegin())
    node.end()
    #expect(began.value == [])
    node.end()
    #expect(began.value == [false])
    #expect(node.hasEnded)
    #expect(!node.tryBegin())
  }

  @Test("An end handler of a node is called once, however late it is added")
  func late() {
    let node = EffectNode()
    let calls = Locked<[Int]>([])
    node.whenEnded {
      calls.change { $0.append(1) }
      node.whenEnded { calls.change { $0.append(2) } }
    }
    node.end()
    node.whenEnded { calls.change { $0.append(3) } }
    #expect(calls.value == [1, 2, 3])
  }

  @Test("Effects that begin, end and are cancelled on many threads all end when the store goes")
  func race() async throws {
    let running = Racing.Running()
    for _ in 0..<100 {
      let stores = Locked<[StoreOf<Racing>?]>(
        (0..<100).map { _ in Store(initialState: 0) { Racing(running: running) } }
      )
      let tasks = Locked<[StoreTask]>([])
      try await inTime("all effects of a hundred stores") {
        await withTaskGroup(of: Void.self) { group in
          // Each worker does its own work on all stores, in the same order, so that the workers meet.
          let workers: [@Sendable (StoreOf<Racing>, Int) -> Void] = [
            { store, _ in tasks.change { $0.append(store.send(.start)) } },
            { store, _ in store.send(.short).cancel() },
            { store, _ in store.send(.cancel) },
            { store, index in
              tasks.change { $0.append(store.send(.short)) }
              stores.change { $0[index] = nil }
            },
          ]
          for work in workers {
            group.addTask {
              for index in 0..<100 {
                if let store = stores.value[index] { work(store, index) }
              }
            }
          }
        }
        for task in tasks.value { await task.finish() }
      }
      #expect(stores.value.allSatisfy { $0 == nil })
    }
    try await eventually("the end of every effect that has begun") { running.isEven }
  }
}
