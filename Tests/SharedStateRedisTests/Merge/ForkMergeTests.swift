import Foundation
import SharedState
import Testing

@testable import SharedStateRedis

/// A document that the server has lost is merged with the document written there since, as its type knows it.
@Suite("Two histories of one value", .timeLimit(.minutes(5)))
struct ForkMergeTests {
  private struct Item: Codable, Identifiable, Sendable {
    var id: Int
    var price = 1
  }

  private struct Shop: Codable, Sendable {
    var items: [Item] = []
    var tags: Set<String> = []
    var limits: [UUID: Int] = [:]
    var visits = MergingCounter(0)
    var minimum: Int?
    var maximum: Int?
  }

  private struct Invalid: Error {}

  private func merge(
    base: String?,
    stored: String,
    verified: String,
    options: RedisSharedKey<Shop>.Options = .init()
  ) -> Result<String?, RedisSharedStateError> {
    encoded(base: base, stored: stored, verified: verified, options: options).result
      .map { $0.map { String(decoding: $0.merged, as: UTF8.self) } }
  }

  private func encoded(
    base: String?,
    stored: String,
    verified: String,
    options: RedisSharedKey<Shop>.Options = .init()
  ) -> Replica.Encoded {
    let coder = RedisSharedKey("shop", store: .inProcess(), options: options).coder(completedBy: Shop())
    let fork = Fork.Documents(
      base: base.map { Data($0.utf8) },
      stored: Data(stored.utf8),
      verified: Data(verified.utf8)
    )
    return coder.merged(fork)
  }

  @Test("FieldsMerge: are merged element by element, with the unknown fields of both sides")
  func elements() {
    let merged = merge(
      base: #"{"items":[{"id":1,"price":1,"x":1},{"id":2,"price":1}],"tags":["b","a"],"visits":10,"new":{"a":1}}"#,
      stored: #"{"items":[{"id":1,"price":5,"x":1},{"id":2,"price":1},{"id":3,"price":1}],"tags":["a","c","b"],"#
        + #""visits":12,"new":{"a":2}}"#,
      verified: #"{"items":[{"id":2,"price":1},{"id":1,"price":1,"x":7}],"tags":["b"],"visits":15,"new":{"a":1,"b":3}}"#
    )
    let expected =
      #"{"items":[{"id":2,"price":1},{"id":1,"price":5,"x":7},{"id":3,"price":1}],"tags":["b","c"],"#
      + #""visits":17,"new":{"a":2,"b":3}}"#
    #expect(merged == .success(expected))
  }

  @Test(
    "The places where the server's change has overridden a lost one are counted, and no others",
    arguments: [
      (#"{"minimum":1}"#, #"{"minimum":2}"#, #"{"minimum":3,"maximum":9}"#, 1),
      (#"{"minimum":1}"#, #"{"minimum":2}"#, #"{"minimum":2,"maximum":9}"#, 0),
      (#"{"minimum":1,"maximum":5}"#, #"{"minimum":2,"maximum":6}"#, #"{"minimum":3,"maximum":7}"#, 2),
      // Both have counted, which adds up.
      (#"{"visits":1}"#, #"{"visits":5}"#, #"{"visits":3}"#, 0),
      // The price was changed, and the element removed.
      (#"{"items":[{"id":1,"price":1}]}"#, #"{"items":[]}"#, #"{"items":[{"id":1,"price":2}]}"#, 1),
      (#"{"items":[{"id":1,"price":1}]}"#, #"{"items":[{"id":1,"price":2}]}"#, #"{"items":[]}"#, 1),
      (#"{"items":[{"id":1,"price":1}]}"#, #"{"items":[]}"#, #"{"items":[{"id":1,"price":1},{"id":2,"price":1}]}"#, 0),
      (#"{"tags":["a"]}"#, #"{"tags":["b"]}"#, #"{"tags":["a","c"]}"#, 0),
    ]
  )
  func overridden(base: String, stored: String, verified: String, count: Int) {
    #expect(encoded(base: base, stored: stored, verified: verified).overridden == count)
  }

  @Test("What both have counted since adds up, but not over an older base, which would count their common part twice")
  func counts() throws {
    let coder = RedisSharedKey<Shop>("shop", store: .inProcess(), options: .init()).coder(completedBy: Shop())
    // They have parted at 5.
    for (base, isExact, visits, overridden) in [(5, true, 10, 0), (1, false, 8, 1)] {
      let fork = Fork.Documents(
        base: Data(#"{"visits":\#(base),"minimum":1}"#.utf8),
        stored: Data(#"{"visits":8,"minimum":1}"#.utf8),
        verified: Data(#"{"visits":7,"minimum":2}"#.utf8),
        isBaseExact: isExact
      )
      let encoded = coder.merged(fork)
      let documents = try encoded.result.get()
      let merged = try #require(documents).merged
      #expect(String(decoding: merged, as: UTF8.self) == #"{"visits":\#(visits),"minimum":2}"#)
      #expect(encoded.overridden == overridden)
    }
  }

  @Test("FieldsMerge: in a field that both have changed, the server's change wins")
  func sameField() {
    let merged = merge(base: #"{"minimum":1}"#, stored: #"{"minimum":2}"#, verified: #"{"minimum":3,"maximum":9}"#)
    #expect(merged == .success(#"{"minimum":2,"maximum":9}"#))
  }

  @Test("FieldsMerge: are merged even if they have nothing in common")
  func nothingInCommon() {
    let verified = #"{"tags":["b"],"visits":3,"maximum":1}"#
    let merged = merge(base: nil, stored: #"{"tags":["a"],"visits":2}"#, verified: verified)
    #expect(merged == .success(#"{"tags":["a","b"],"visits":5,"maximum":1}"#))
  }

  @Test("BadDataHeld: are not merged if the result breaks the key's rules, is too large, or cannot be read")
  func refused() {
    let options = RedisSharedKey<Shop>.Options(
      maximumBytes: 40,
      validate: { shop in
        guard (shop.minimum ?? 0) <= (shop.maximum ?? .max) else { throw Invalid() }
      }
    )
    func error(_ base: String, _ stored: String, _ verified: String) -> RedisSharedStateError? {
      let merged = merge(base: base, stored: stored, verified: verified, options: options)
      if case .failure(let error) = merged { return error }
      return nil
    }
    guard error("{}", #"{"minimum":8}"#, #"{"maximum":6}"#)?.code == .rejected else {
      Issue.record("An invalid merge was made.")
      return
    }
    let (text, other) = (String(repeating: "x", count: 20), String(repeating: "y", count: 20))
    guard error("{}", "{\"a\":\"\(text)\"}", "{\"b\":\"\(other)\"}")?.code == .valueTooLarge else {
      Issue.record("A merge that is too large was made.")
      return
    }
    #expect(error("{}", "nonsense", "{}") != nil)
    #expect(error("{}", "{}", #"{"minimum":"x"}"#) != nil)
  }
}
