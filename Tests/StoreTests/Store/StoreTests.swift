import SharedState
import SharedStateStore
import SharedStateTesting
import Testing

@Suite("A store", .timeLimit(.minutes(5)))
struct StoreTests {
  @Test("An action is reduced when send returns")
  func send() {
    let store = Store(initialState: Counter.State()) { Counter() }
    store.send(.increment)
    #expect(store.count == 1)
    #expect(store.state == Counter.State(count: 1))
    #expect(store.withState { $0.count + 1 } == 2)
  }

  @Test("An action that an effect sends is reduced right after the first one")
  func echo() {
    let store = Store(initialState: Counter.State()) { Counter() }
    store.send(.echo)
    #expect(store.count == 1)
  }

  @Test("A chain of a hundred thousand synchronous sends needs no deep stack")
  func chain() {
    let store = Store(initialState: Counter.State()) { Counter() }
    store.send(.chain(100_000))
    #expect(store.count == 100_001)
  }

  @Test("An action that the reducer sends to its own store is reduced next")
  func sendInReducer() {
    let box = Locked<Store<Int, Int>?>(nil)
    let store = Store<Int, Int>(initialState: 0) {
      Reduce { state, action in
        if action == 1 { box.value?.send(10) }
        state = state * 2 + action
        return .none
      }
    }
    box.change { $0 = store }
    store.send(1)
    #expect(store.state == 12)
    box.change { $0 = nil }
  }

  @Test("Actions of effects are reduced in the order in which they were sent")
  func order() {
    let store = Store<[Int], Int>(initialState: []) {
      Reduce { state, action in
        state.append(action)
        switch action {
        case 0: return .merge(.send(1), .send(2))
        case 1: return .send(3)
        default: return .none
        }
      }
    }
    store.send(0)
    #expect(store.state == [0, 1, 2, 3])
  }

  @Test("An object that a reducer releases may send an action")
  func sendOnRelease() {
    final class Guest: Sendable {
      private let leave: @Sendable () -> Void
      init(leave: @escaping @Sendable () -> Void) { self.leave = leave }
      deinit { leave() }
    }
    struct House: Sendable {
      var guest: Guest?
      var departures = 0
    }
    enum Event { case midnight, departure }
    let box = Locked<Store<House, Event>?>(nil)
    let store = Store<House, Event>(initialState: House(guest: Guest { box.value?.send(.departure) })) {
      Reduce { house, event in
        switch event {
        case .midnight: house.guest = nil
        case .departure: house.departures += 1
        }
        return .none
      }
    }
    box.change { $0 = store }
    store.send(.midnight)
    #expect(store.departures == 1)
    box.change { $0 = nil }
  }

  @Test("finish waits for all consequences of an action")
  func finish() async {
    let store = Store(initialState: Counter.State()) { Counter() }
    await store.send(.merge).finish()
    #expect(store.received == [1, 2])
    await store.send(.concatenate).finish()
    #expect(store.received == [1, 2, 1, 2, 3])
  }

  @Test("Threads that send concurrently lose no action, and each keeps its order")
  func threads() async {
    let store = Store(initialState: Counter.State()) { Counter() }
    await withTaskGroup(of: Void.self) { group in
      for thread in 0..<4 {
        group.addTask {
          for number in 0..<1_000 { store.send(.received(thread * 1_000 + number)) }
        }
      }
    }
    #expect(store.received.count == 4_000)
    for thread in 0..<4 {
      let own = store.received.filter { $0 / 1_000 == thread }
      #expect(own == own.sorted())
    }
  }

  @Test("Releasing a store cancels its effects")
  func release() async throws {
    let isCancelled = Gate()
    let hasBegun = Gate()
    var store: Store<Int, Int>? = Store(initialState: 0) {
      Reduce { _, _ in
        .run { _ in
          await withTaskCancellationHandler {
            hasBegun.open()
            await Gate().wait()
          } onCancel: {
            isCancelled.open()
          }
        }
      }
    }
    store?.send(0)
    try await inTime("the beginning of the effect") { await hasBegun.wait() }
    store = nil
    try await inTime("the end of the effect") { await isCancelled.wait() }
  }

  @Test("Cancelling the task of an action cancels its effects")
  func cancelTask() async throws {
    let store = Store<Int, Int>(initialState: 0) {
      Reduce { state, action in
        state += action
        guard action == 1 else { return .none }
        return .run { send in
          await Gate().wait()
          await send(10)
        }
      }
    }
    let task = store.send(1)
    task.cancel()
    try await inTime("the end of the effect") { await task.finish() }
    #expect(task.isCancelled)
    #expect(store.state == 1)
  }

  @Test("Two stores that observe and change one share from two threads do not wait for each other")
  func noDeadlock() async throws {
    let share = Shared(value: 0)
    func makeStore() -> Store<Int, Int> {
      Store(initialState: 0) {
        Reduce { state, action in
          switch action {
          case 0:
            return .subscription { send, _ in
              let observation = share.observation { _ in send.now(1) }
              observation.start()
              return { observation.cancel() }
            }
          case 1:
            state += 1
          default:
            share.withLock { $0 += 1 }
          }
          return .none
        }
      }
    }
    let stores = [makeStore(), makeStore()]
    let tasks = stores.map { $0.send(0) }
    try await inTime("two threads that change a share") {
      await withTaskGroup(of: Void.self) { group in
        for store in stores {
          group.addTask { for _ in 0..<2_000 { store.send(2) } }
        }
      }
    }
    #expect(share.wrappedValue == 4_000)
    for task in tasks { task.cancel() }
    for task in tasks { try await inTime("the end of a subscription") { await task.finish() } }
  }

  @Test("An action that a reducer sends to another store is reduced after the reducer has returned")
  func sendToOther() {
    let log = Locked<[String]>([])
    let other = Store<Int, Int>(initialState: 0) {
      Reduce { state, action in
        log.change { $0.append("other \(action)") }
        state = action
        return .none
      }
    }
    let store = Store<Int, Int>(initialState: 0) {
      Reduce { state, action in
        other.send(action)
        log.change { $0.append("store \(action)") }
        return action == 1 ? .send(2) : .none
      }
    }
    store.send(1)
    #expect(log.value == ["store 1", "store 2", "other 1", "other 2"])
    #expect(other.state == 2)
  }

  @Test("Two stores that keep sending to each other need no deep stack")
  func pingPong() {
    let boxes = [Locked<Store<Int, Int>?>(nil), Locked<Store<Int, Int>?>(nil)]
    let stores = (0..<2).map { index in
      Store<Int, Int>(initialState: 0) {
        Reduce { state, action in
          state += 1
          if action > 0 { boxes[1 - index].value?.send(action - 1) }
          return .none
        }
      }
    }
    for (box, store) in zip(boxes, stores) { box.change { $0 = store } }
    stores[0].send(100_000)
    #expect(stores.map(\.state) == [50_001, 50_000])
    for box in boxes { box.change { $0 = nil } }
  }

  @Test("Reading a store inside its own reducer stops the program with the name of the feature")
  func readInReducer() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      Watchdog.start(endingWith: 0)
      let box = Locked<StoreOf<Reader>?>(nil)
      let store = Store(initialState: 0) { Reader(read: { box.value?.state ?? 0 }) }
      box.change { $0 = store }
      store.send(0)
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(text.contains("The state of the store of 'Reader' was read inside its own reducer."))
  }

  struct Reader: Reducer {
    let read: @Sendable () -> Int

    func reduce(into state: inout Int, action: Int) -> Effect<Int> {
      state = read()
      return .none
    }
  }

  @Test("Updates are the current state, and then the state after each action, in order")
  func updates() async throws {
    let store = Store(initialState: Counter.State()) { Counter() }
    for _ in 0..<3 { store.send(.increment) }
    let counts = try await inTime("the states") {
      var counts: [Int] = []
      for await state in store.updates {
        counts.append(state.count)
        if counts.count == 1 { for _ in 0..<3 { store.send(.increment) } }
        if state.count == 6 { break }
      }
      return counts
    }
    #expect(counts == [3, 4, 5, 6])
  }

  @Test("Updates include changes of a share in the state that no action has made")
  func updatesOfShares() async throws {
    let share = Shared(value: 0)
    let store = Store<Shared<Int>, Int>(initialState: share) { EmptyReducer() }
    let isReady = Gate()
    let last = try await inTime("the change") {
      for await state in store.updates {
        if state.wrappedValue == 1 { return 1 }
        isReady.open()
        share.withLock { $0 = 1 }
      }
      return 0
    }
    #expect(last == 1)
  }
}
