import Foundation
import Testing

@testable import SharedState

/// A coder that takes longer for each element in a larger document does not finish these tests.
@Suite("Large documents", .timeLimit(.minutes(5)))
struct LargeDocumentTests {
  struct Item: Codable, Hashable, Identifiable {
    var id: Int
    var name = "n"
  }

  @Test("Elements of a large list are read one by one")
  func largeList() throws {
    let coders = try Coders()
    let items = (0..<100_000).map { Item(id: $0) }
    let formed = try coders.encoder.encode(items, formsReadBy: coders.decoder).formed()
    guard case .list(let form) = formed.forms?[0] else {
      Issue.record("An array of identifiable elements must be a list.")
      return
    }
    let identities = elements(of: formed.document).map { form.read(formed.document, $0)?.identity }
    #expect(identities == items.map { Identity($0.id) })
  }

  @Test("Invalid elements of a large set are refused one by one")
  func invalidSetElements() throws {
    let coders = try Coders()
    guard case .set(let form) = try coders.forms(Set([Anything.number(1)])).values.first else {
      Issue.record("A set must have its form.")
      return
    }
    let document = try document("[\(Array(repeating: "[{}]", count: 100_000).joined(separator: ","))]")
    #expect(elements(of: document).allSatisfy { form.read(document, $0) == nil })
  }

  private func elements(of document: JSONDocument) -> [Int] {
    Array(sequence(first: 1) { Int(document.nodes[$0].next) }.prefix { $0 < document.nodes.count })
  }

  /// Tries one type after the other, as a type for any JSON does.
  enum Anything: Codable, Hashable {
    case boolean(Bool), number(Int), string(String)

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if let boolean = try? container.decode(Bool.self) {
        self = .boolean(boolean)
      } else if let number = try? container.decode(Int.self) {
        self = .number(number)
      } else {
        self = .string(try container.decode(String.self))
      }
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      switch self {
      case .boolean(let boolean): try container.encode(boolean)
      case .number(let number): try container.encode(number)
      case .string(let string): try container.encode(string)
      }
    }
  }

  /// Leaves out everything but numbers.
  struct Numbers: Decodable {
    struct Skipped: Decodable {}

    var numbers: [Int] = []

    init(from decoder: any Decoder) throws {
      var container = try decoder.unkeyedContainer()
      while !container.isAtEnd {
        if let number = try? container.decode(Int.self) {
          numbers.append(number)
        } else {
          _ = try container.decode(Skipped.self)
        }
      }
    }
  }

  /// Leaves out members that are no numbers, beginning with the last one.
  struct Members: Decodable {
    var numbers: [Int] = []

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: Name.self)
      for key in container.allKeys.reversed() {
        if let number = try? container.decode(Int.self, forKey: key) { numbers.append(number) }
      }
    }
  }

  /// Reads two arrays in turns.
  struct Turns: Decodable {
    var numbers: [Int] = []

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: Name.self)
      var containers = [
        try container.nestedUnkeyedContainer(forKey: Name("a")),
        try container.nestedUnkeyedContainer(forKey: Name("b")),
      ]
      while !containers[0].isAtEnd {
        for index in containers.indices {
          if let number = try? containers[index].decode(Int.self) { numbers.append(number) }
          _ = try? containers[index].decode(String.self)
        }
      }
    }
  }

  @Test("Failed attempts to decode values do not slow down a large document")
  func failedAttempts() throws {
    let coders = try Coders()
    let texts = (0..<100_000).map { "\"\($0)\"" }
    let array = "[\(texts.joined(separator: ","))]"
    let object = "{\(texts.map { "\($0):\($0)" }.joined(separator: ","))}"
    #expect(try coders.value([Anything].self, array).last == .string("99999"))
    #expect(try coders.value([String: Anything].self, object)["99999"] == .string("99999"))
    #expect(try coders.value(Numbers.self, array).numbers.isEmpty)
    #expect(try coders.value(Members.self, object).numbers.isEmpty)
    #expect(try coders.value(Turns.self, "{\"a\":\(array),\"b\":\(array)}").numbers.isEmpty)
  }
}
