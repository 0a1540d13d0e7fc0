import SharedStateRedisTesting
import Testing

@Suite("Without TLS", .timeLimit(.minutes(5)))
struct PlainTests {
  @Test("A TLS configuration is refused without the TLS trait")
  func refused() {
    let errors = [
      #expect(throws: RedisSharedStateError.self) { try RedisConfiguration(url: "rediss://h") },
      #expect(throws: RedisSharedStateError.self) { try RedisConfiguration(host: "h", tls: .init()) },
    ]
    for error in errors { #expect(error?.code == .unsupported) }
  }
}
