import Foundation
import Testing

@testable import SharedState

@Suite("DocumentDecoder: random documents", .timeLimit(.minutes(5)))
struct DecoderPropertyTests {
  @Test("Random values are read as Foundation reads them", arguments: 0..<40)
  func randomValuesRead(block: Int) throws {
    for seed in (block * 500)..<((block + 1) * 500) {
      let settings = Settings(seed: seed)
      var generator = Generator(seed: ~seed)
      let json = generator.json()
      let (expected, found) = (Probe.Log(seed: seed), Probe.Log(seed: seed))
      let key = try #require(Probe.Log.key)
      settings.decoder.userInfo[key] = expected
      expected.attempt("") { try settings.decoder.decode(Probe.self, from: Data(json.utf8)) }
      settings.decoder.userInfo[key] = found
      let decoder = try #require(DocumentDecoder(settings.decoder))
      found.attempt("") { try decoder.decode(Probe.self, from: Data(json.utf8)) }
      let difference = zip(expected.lines, found.lines).first { $0 != $1 }
      let isEqual = expected.lines.count == found.lines.count && difference == nil
      try #require(isEqual, "seed \(seed): \(difference ?? ("", "")) in \(json)")
    }
  }
}
