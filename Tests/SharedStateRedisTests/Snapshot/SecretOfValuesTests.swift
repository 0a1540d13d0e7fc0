import Testing

@testable import SharedStateRedis

@Suite("The secret in a snapshot", .timeLimit(.minutes(5)))
struct SecretOfValuesTests {
  private let start = Instant.now

  private func secret(_ digit: Character) throws -> Secret {
    try #require(Secret(String(repeating: digit, count: Secret.length)))
  }

  private func answer(_ link: inout LinkState, at now: Instant) {
    link.answerOnce(at: now, stored: .document(7, "1"))
    link.showAll()
  }

  @Test("AcknowledgedSurvives: values of a former server are saved with its secret until all are read from the next")
  func former() throws {
    var link = LinkState.make()
    _ = try link.join("count")
    #expect(link.takeSecretOfValues() == nil)
    link.connect(at: start)
    link.secrets.learn(try secret("a"))
    // The first connection has confirmed everything that is known, also before all is read.
    #expect(try link.takeSecretOfValues() == secret("a"))
    answer(&link, at: start)
    #expect(link.isLive)
    #expect(try link.takeSecretOfValues() == secret("a"))

    link.failed(epoch: link.session.epoch, error: .disconnected(reason: "cut"), now: start)
    let later = start + .seconds(60)
    _ = link.instruction(now: later)
    link.connect(at: later)
    link.secrets.learn(try secret("b"))
    #expect(!link.isLive)
    #expect(try link.takeSecretOfValues() == secret("a"))
    answer(&link, at: later)
    #expect(link.isLive)
    #expect(try link.takeSecretOfValues() == secret("b"))
  }
}
