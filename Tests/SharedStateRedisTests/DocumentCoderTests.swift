import Foundation
import Testing

@testable import SharedStateRedis

@Suite("FieldsMerge: a coder of documents", .timeLimit(.minutes(5)))
struct DocumentCoderTests {
  @Test("A change to a document that a person has written in JSON5 keeps the changes of others")
  func relaxedDocument() throws {
    let coder = DocumentCoder<[String: Int]>(
      encode: { value in
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return Result { try encoder.encode(value) }.mapError { _ in .bad }
      },
      decode: { document in
        let decoder = JSONDecoder()
        decoder.allowsJSON5 = true
        return Result { try decoder.decode([String: Int].self, from: document) }.mapError { _ in .bad }
      },
      rules: .init(name: "limits")
    )
    let encoding = Replica.Encoding(
      updates: [],
      base: .stored(Data("{a: 1, b: 1}".utf8)),
      stored: .document(2, #"{"a":2,"b":1,"c":1}"#),
      isMerged: true,
      isReplacement: false
    )
    let encoded = coder.documents(of: ["a": 1, "b": 2], stamp: 1, default: [:], encoding)
    let documents = try #require(try encoded.result.get())
    #expect(documents.merged == Data(#"{"a":2,"b":2,"c":1}"#.utf8))
  }
}
