import Foundation
import Testing

@testable import SharedState

@Suite("Objects of another shape", .timeLimit(.minutes(5)))
struct OtherShapeTests {
  struct Config: Codable { var limit = 1; var note: String? }
  struct Lenient: Codable {
    var limit: Int
    init(from decoder: any Decoder) throws {
      limit = try decoder.container(keyedBy: CodingKeys.self).decodeIfPresent(Int.self, forKey: .limit) ?? 1
    }
  }
  struct Wrapper: Codable {
    var config: Config
    init(from decoder: any Decoder) throws { config = try decoder.singleValueContainer().decode(Config.self) }
    func encode(to encoder: any Encoder) throws { try config.encode(to: encoder) }
  }
  struct Dynamic: Codable {
    var names: [String]
    struct Key: CodingKey {
      var stringValue: String
      var intValue: Int? { nil }
      init(stringValue: String) { self.stringValue = stringValue }
      init?(intValue: Int) { nil }
    }
    init(from decoder: any Decoder) throws {
      names = try decoder.container(keyedBy: Key.self).allKeys.map(\.stringValue)
    }
    func encode(to encoder: any Encoder) throws {}
  }
  struct Outer: Codable { var inner = Config(); var list: [Config] = [] }
  struct Empty: Codable {}

  private func isOther<Value: Codable>(_ type: Value.Type, _ text: String, default value: Value? = nil) throws -> Bool {
    let coders = try Coders { $1.keyDecodingStrategy = .convertFromSnakeCase }
    let standard = try value.map { try JSONDocument(parsing: coders.encoder.encode($0)) }
    return try coders.decoder.decode(type, from: document(text), completedBy: standard).isOfOtherShape
  }

  @Test("An object without a known member is of another shape")
  func noKnownMember() throws {
    #expect(try isOther(Config.self, #"{"x":5}"#, default: Config()))
    #expect(try isOther(Lenient.self, #"{"x":5,"y":{"limit":1}}"#))
    #expect(try isOther(Wrapper.self, #"{"x":5}"#, default: Wrapper(config: Config())))
    #expect(try isOther(Outer.self, #"{"limit":5,"note":"a"}"#, default: Outer()))
  }

  @Test("Objects with a known member, and other documents, are not of another shape")
  func otherDocumentsAreNot() throws {
    #expect(try !isOther(Config.self, "{}", default: Config()))
    #expect(try !isOther(Config.self, #"{"x":5,"note":null}"#, default: Config()))
    #expect(try !isOther(Config.self, #"{"x":5,"limit":2}"#))
    #expect(try !isOther([String: Int].self, #"{"x":5}"#))
    #expect(try !isOther([String: Config].self, #"{"x":{"y":5}}"#.replacing("y", with: "limit")))
    #expect(try !isOther([Config].self, #"[{"limit":5}]"#))
    #expect(try !isOther(Dynamic.self, #"{"x":5}"#))
    #expect(try !isOther(Empty.self, #"{"x":5}"#))
    #expect(try !isOther(Int.self, "5"))
    #expect(try !isOther(Outer.self, #"{"inner":{"x":5}}"#, default: Outer()))
  }
}

extension OtherShapeTests.Wrapper {
  fileprivate init(config: OtherShapeTests.Config) { self.config = config }
}
