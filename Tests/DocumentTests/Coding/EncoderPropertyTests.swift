import Foundation
import Testing

@testable import SharedState

@Suite("DocumentEncoder: random values", .timeLimit(.minutes(5)))
struct EncoderPropertyTests {
  @Test("Random values are written as Foundation writes them", arguments: 0..<40)
  func randomValuesWritten(block: Int) throws {
    for seed in (block * 500)..<((block + 1) * 500) {
      let settings = Settings(seed: seed)
      var generator = Generator(seed: ~seed)
      let script = Script.random(&generator)
      let encoder = try #require(DocumentEncoder(settings.encoder))
      let expected = Result { try settings.encoder.encode([script]) }
      let found = Result { try encoder.encode([script]) }
      switch (expected, found) {
      case (.success(let expected), .success(let found)):
        let isEqual = expected == found
        try #require(
          isEqual,
          "seed \(seed): \(String(decoding: expected, as: UTF8.self)) is \(String(decoding: found, as: UTF8.self))"
        )
        settings.encoder.outputFormatting.remove([.sortedKeys, .prettyPrinted])
        let plain = try #require(DocumentEncoder(settings.encoder)).encode([script])
        let documents = (try JSONDocument(parsing: plain), try JSONDocument(parsing: expected))
        try #require(documents.0.hasSameValue(as: documents.1), "seed \(seed)")
      case (.failure(EncodingError.invalidValue(_, let expected)), .failure(EncodingError.invalidValue(_, let found))):
        try #require(expected.codingPath.last?.stringValue == found.codingPath.last?.stringValue, "seed \(seed)")
      default:
        Issue.record("seed \(seed): \(expected) and \(found)")
        return
      }
    }
  }
}
