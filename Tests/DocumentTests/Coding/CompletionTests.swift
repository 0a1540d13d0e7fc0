import Foundation
import Testing

@testable import SharedState

@Suite("Completion from a default", .timeLimit(.minutes(5)))
struct CompletionTests {
  struct Limits: Codable, Equatable {
    var perSecond = 5
    var burst = 10
    var note: String?
  }

  enum Mode: Codable, Equatable { case fast(level: Int, name: String), slow }

  struct Config: Codable, Equatable {
    var limit = 1
    var currency = "EUR"
    var comment: String? = "default"
    var limits = Limits()
    var list = [Limits()]
    var map = ["a": Limits()]
    var optional: Limits? = Limits()
    var mode = Mode.fast(level: 1, name: "x")
  }

  private func complete(_ text: String) throws -> DocumentDecoder.Completed<Config> {
    let coders = try Coders { encoder, decoder in
      (encoder.keyEncodingStrategy, decoder.keyDecodingStrategy) = (.convertToSnakeCase, .convertFromSnakeCase)
    }
    let standard = try JSONDocument(parsing: coders.encoder.encode(Config()))
    return try coders.decoder.decode(Config.self, from: document(text), completedBy: standard)
  }

  @Test("Missing required members are taken from the default")
  func missingRequiredMembers() throws {
    let completed = try complete(#"{"limit":20,"limits":{"burst":3},"list":[],"map":{},"mode":{"fast":{"level":9}}}"#)
    var expected = Config(limit: 20, comment: nil, limits: Limits(burst: 3), list: [], map: [:], optional: nil)
    expected.mode = .fast(level: 9, name: "x")
    #expect(completed.value == expected)
    #expect(completed.paths == [["currency"], ["limits", "perSecond"], ["mode", "fast", "name"]])
  }

  @Test("Missing members are taken whole, and missing optionals are nil")
  func wholeMembersAreTaken() throws {
    let completed = try complete("{}")
    #expect(completed.value == Config(comment: nil, optional: nil))
    #expect(completed.paths == [["limit"], ["currency"], ["limits"], ["list"], ["map"], ["mode"]])
  }

  @Test("A missing member inside a collection is an error")
  func memberInsideCollection() {
    #expect(throws: DecodingError.self) { try complete(#"{"list":[{"burst":1}]}"#) }
    #expect(throws: DecodingError.self) { try complete(#"{"map":{"a":{"burst":1}}}"#) }
  }

  @Test("A null or mistyped member is an error")
  func nullIsNotMissing() {
    #expect(throws: DecodingError.self) { try complete(#"{"limit":null}"#) }
    #expect(throws: DecodingError.self) { try complete(#"{"limits":{"per_second":"x"}}"#) }
  }

  @Test("An unknown or missing enum case is an error")
  func unknownCase() {
    #expect(throws: DecodingError.self) { try complete(#"{"mode":{"other":{}}}"#) }
    #expect(throws: DecodingError.self) { try complete(#"{"mode":{}}"#) }
  }
}
