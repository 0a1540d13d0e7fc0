import SharedState
import SharedStateDependencies
import SharedStateRedis
import SharedStateStore
import SharedStateStoreTesting
import SharedStateTesting
import Testing

struct CheckoutConfig: Codable, Equatable, Sendable {
  var maximumItems = 10
}

struct Checkout: Reducer {
  struct State: Equatable {
    @Shared(.redis("checkout:config")) var config = CheckoutConfig()
    var accepted = 0
  }

  enum Action: Equatable {
    case started
    case configChanged(CheckoutConfig)
    case order(items: Int)
    case setMaximum(Int)
    case saved
  }

  var body: some ReducerOf<Self> {
    Reduce { state, action in
      switch action {
      case .started:
        return .run { [config = state.$config] send in
          for await config in config.updates { await send(.configChanged(config)) }
        }
      case .configChanged:
        return .none
      case .order(let items):
        if items <= state.config.maximumItems { state.accepted += 1 }
        return .none
      case .setMaximum(let maximum):
        state.$config.withLock { $0.maximumItems = maximum }
        return .run { [config = state.$config] send in
          try await config.save()
          await send(.saved)
        }
      case .saved:
        return .none
      }
    }
  }
}

@Suite("Changes of other services", .timeLimit(.minutes(5)))
struct RemoteChangeTests {
  private func makeService(on server: InProcessRedis) -> TestStoreOf<Checkout> {
    let store = TestStore(initialState: Checkout.State()) {
      Checkout()
    } withDependencies: {
      $0.defaultRedisStore = .inProcess(server)
    }
    store.timeout = patience
    return store
  }

  @Test("A change of another service, even the first one, is asserted with receiveChange")
  func receiveChange() async throws {
    let server = InProcessRedis()
    let (checkout, admin) = (makeService(on: server), makeService(on: server))
    try await checkout.state.$config.load()
    try await admin.state.$config.load()
    for maximum in [3, 4] {
      await admin.send(.setMaximum(maximum)) { $0.$config.withLock { $0.maximumItems = maximum } }
      await admin.receive(.saved)
      await checkout.receiveChange { $0.$config.withLock { $0.maximumItems = maximum } }
      await checkout.send(.order(items: maximum + 1))
    }
    await checkout.send(.order(items: 4)) { $0.accepted = 1 }
    await checkout.finish()
    await admin.finish()
  }

  @Test("A change of another service may be asserted with the action that it caused")
  func receive() async throws {
    let server = InProcessRedis()
    let (checkout, admin) = (makeService(on: server), makeService(on: server))
    try await checkout.state.$config.load()
    let running = await checkout.send(.started)
    await checkout.receive(.configChanged(CheckoutConfig()))
    await admin.send(.setMaximum(3)) { $0.$config.withLock { $0.maximumItems = 3 } }
    await admin.receive(.saved)
    await checkout.receive(.configChanged(CheckoutConfig(maximumItems: 3))) {
      $0.$config.withLock { $0.maximumItems = 3 }
    }
    await running.cancel()
    await checkout.finish()
    await admin.finish()
  }

  @Test("An unasserted change of another service fails the test with a diff")
  func unasserted() async throws {
    try await withKnownIssue {
      let server = InProcessRedis()
      let (checkout, admin) = (makeService(on: server), makeService(on: server))
      try await checkout.state.$config.load()
      await admin.send(.setMaximum(3)) { $0.$config.withLock { $0.maximumItems = 3 } }
      await admin.receive(.saved)
      let config = checkout.state.$config
      try await eventually("the change to arrive") { config.wrappedValue.maximumItems == 3 }
      await checkout.send(.order(items: 3)) { $0.accepted = 1 }
    } matching: { issue in
      issue.text?.hasPrefix("Tracked changes to '") == true
        && issue.text?.contains(
          """
            − CheckoutConfig(maximumItems: 10)
            + CheckoutConfig(maximumItems: 3)
          """
        ) == true
    }
  }

  @Test("A receiveChange that times out reports the change that it expected")
  func inVain() async {
    let line = #line + 3
    await withKnownIssue {
      let checkout = makeService(on: InProcessRedis())
      await checkout.receiveChange(timeout: .milliseconds(20)) { $0.$config.withLock { $0.maximumItems = 3 } }
    } matching: { issue in
      issue.sourceLocation?.line == line
        && issue.text == """
          A change of a shared value of 'Checkout' that no action makes was expected within 0.02 seconds: …

          A state change does not match expectation: …

              − CheckoutConfig(maximumItems: 3)
              + CheckoutConfig(maximumItems: 10)

          (Expected: −, Actual: +)
          """
    }
  }

  @Test("A change of another service reaches the state and the updates of a store")
  func store() async throws {
    let server = InProcessRedis()
    let checkout = withDependencies {
      $0.defaultRedisStore = .inProcess(server)
    } operation: {
      Store(initialState: Checkout.State()) { Checkout() }
    }
    let admin = makeService(on: server)
    try await checkout.state.$config.load()
    let isReady = Gate()
    async let maximum = inTime("the change") {
      for await state in checkout.updates {
        if state.config.maximumItems == 3 { return checkout.config.maximumItems }
        isReady.open()
      }
      return 0
    }
    try await inTime("the first state") { await isReady.wait() }
    await admin.send(.setMaximum(3)) { $0.$config.withLock { $0.maximumItems = 3 } }
    await admin.receive(.saved)
    #expect(try await maximum == 3)
  }
}
