@testable import SharedState
import Foundation
import Testing

@Suite("FieldsMerge: the cases", .timeLimit(.minutes(5)))
struct MergeCasesTests {
  @Test("A merge gives the expected document in every case of the case file", arguments: MergeCase.all)
  func isAsExpected(_ example: MergeCase) throws {
    let outcome = try example.merged()
    let document = String(decoding: outcome.document, as: UTF8.self)
    #expect(outcome.isChanged == (Array(outcome.document) != example.theirs))
    let expected = String(decoding: example.expected, as: UTF8.self)
    if example.isExact {
      #expect(document == expected)
    } else {
      let (merged, wanted) = (try JSONValue(document), try JSONValue(expected))
      let schema = example.schema ?? .leaf
      let isSame = schema.meaning(of: merged, isFull: true) == schema.meaning(of: wanted, isFull: true)
      #expect(isSame, "\(document) is not \(expected)")
    }
  }
}
