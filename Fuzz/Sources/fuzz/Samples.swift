import Foundation
import SharedState

/// Types of each kind that documents are made of.
///
/// The first byte of an input chooses a type: `0` is the first.
enum Samples {
  static let types: [any (Codable & Equatable & Sendable).Type] = [
    Numbers.self, Config.self, [Payment].self, [String: Int].self, [Color: [Int]].self, Set<String>.self, Special.self,
    Tree.self, [Item].self, AnyValue.self, Odd.self, IdentifiedArrayOf<Item>.self, MergingCounter.self,
  ]

  struct Numbers: Codable, Equatable, Sendable {
    var int: Int?
    var small: Int8?
    var large: UInt64?
    var double: Double?
    var float: Float?
    var flag: Bool?
    var list: [Int16]?
  }

  struct Item: Codable, Hashable, Identifiable, Sendable {
    var id: Int
    var name: String?
    var tags: Set<String>?
  }

  enum Color: String, Codable, CodingKeyRepresentable, Sendable { case red, green, blue }

  enum Payment: Codable, Equatable, Sendable { case cash, card(number: Int, name: String?), other(String) }

  struct Config: Codable, Equatable, Sendable {
    var name: String
    var limit: Int?
    var item: Item?
    var items: [Item]?
    var set: Set<Int>?
    var map: [String: Item]?
    var payment: Payment?
    var visits: MergingCounter?
  }

  struct Special: Codable, Equatable, Sendable {
    var date: Date?
    var data: Data?
    var url: URL?
    var uuid: UUID?
    var decimal: Decimal?
    var numbers: [Int: String]?
  }

  struct Tree: Codable, Equatable, Sendable {
    var value: Int?
    var children: [Tree]?
  }

  /// Decodes by trying one kind after the other.
  indirect enum AnyValue: Codable, Equatable, Sendable {
    case null, bool(Bool), number(Double), string(String), array([AnyValue]), object([String: AnyValue])

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if container.decodeNil() {
        self = .null
      } else if let value = try? container.decode(Bool.self) {
        self = .bool(value)
      } else if let value = try? container.decode(Double.self) {
        self = .number(value)
      } else if let value = try? container.decode(String.self) {
        self = .string(value)
      } else if let value = try? container.decode([AnyValue].self) {
        self = .array(value)
      } else {
        self = .object(try container.decode([String: AnyValue].self))
      }
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      switch self {
      case .null: try container.encodeNil()
      case .bool(let value): try container.encode(value)
      case .number(let value): try container.encode(value)
      case .string(let value): try container.encode(value)
      case .array(let value): try container.encode(value)
      case .object(let value): try container.encode(value)
      }
    }
  }

  /// Is encoded and decoded by hand, with nested containers and `super`.
  struct Odd: Codable, Equatable, Sendable {
    private enum Name: String, CodingKey { case list, inner, a }

    var list: [Int] = []
    var a: Int?
    var item: Item

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: Name.self)
      var elements = try container.nestedUnkeyedContainer(forKey: .list)
      while !elements.isAtEnd {
        if try elements.decodeNil() { list.append(0) } else { list.append(try elements.decode(Int.self)) }
      }
      let inner = try container.nestedContainer(keyedBy: Name.self, forKey: .inner)
      a = try inner.decodeIfPresent(Int.self, forKey: .a)
      item = try Item(from: container.superDecoder())
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Name.self)
      var elements = container.nestedUnkeyedContainer(forKey: .list)
      for element in list { try elements.encode(element) }
      var inner = container.nestedContainer(keyedBy: Name.self, forKey: .inner)
      try inner.encodeIfPresent(a, forKey: .a)
      try item.encode(to: container.superEncoder())
    }
  }
}
