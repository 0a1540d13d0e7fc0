import SharedState
import SharedStateDependencies
import SharedStateRedis
import SharedStateRedisTesting
import Testing

@Suite("The readiness of a service in an outage", .timeLimit(.minutes(5)), .endsStores)
struct ReadinessOutageTests {
  @Test(
    "A service stays ready in an outage with the values it has read, and not with unread or unreadable ones",
    .dependency(\.reportsUnreadErrors, false)
  )
  func outage() async throws {
    let backend = try ServerBackend()
    let store = try backend.store()
    #expect(!store.readiness(of: "flags").isReady)
    @Shared(.redis("flags", store: store)) var flags = 0
    try await $flags.load()
    try await store.waitUntilConnected(within: patience)
    #expect(store.readiness(of: "flags") == .live)

    backend.goDown()
    try await store.isDown()
    guard case .stale = store.readiness(of: "flags") else {
      Issue.record("\(store.readiness(of: "flags"))")
      return
    }
    #expect(store.readiness().isReady)
    @Shared(.redis("limits", store: store)) var limits = 0
    guard case .unread(["limits"], _?) = store.readiness(of: "flags", "limits") else {
      Issue.record("\(store.readiness(of: "flags", "limits"))")
      return
    }

    try backend.comeBack()
    try await eventually("all values are read") { store.readiness(of: "flags", "limits") == .live }
    try backend.set("flags", "no document")
    try await eventually("the value cannot be used") { store.readiness(of: "flags", "limits") != .live }
    #expect(!store.readiness(of: "flags").isReady)
    #expect(store.readiness(of: "limits") == .live)
    #expect(store.readiness() == .live)

    // The reason of the outage does not take the place of the error.
    backend.goDown()
    try await store.isDown()
    #expect(!store.readiness(of: "flags").isReady)
    #expect(store.readiness(of: "limits").isReady)
    withExtendedLifetime(($flags, $limits)) {}
  }
}
