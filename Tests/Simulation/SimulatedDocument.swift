import Foundation
import SharedState
@testable import SharedStateRedis
import SharedStateRedisTesting

/// A stored document: a number for each field that it has, and collections that merge element by element.
///
/// It goes through the encoder and the decoder of the library, so that what their forms say is under test as well.
struct SimulatedDocument: Hashable, Codable, CustomStringConvertible {
  enum Field: String, CaseIterable {
    case first
    /// An older release does not know it.
    case second
    /// Only atomic updates change it.
    case count
    /// No service knows it.
    case extra

    var key: String { rawValue }
  }

  /// An element of the list.
  struct Item: Hashable, Codable, Identifiable {
    let id: Int
    var n: Int?
    /// An older release does not know it.
    var m: Int?
    /// No service knows it.
    var x: Int?
  }

  private var first: Int?
  private var second: Int?
  private var count: Int?
  private var extra: Int?
  var list: [Item]?
  var set: Set<Int>?
  /// An older release does not know it.
  var map: [String: Int]?
  var sum: Tally?

  /// What is longer counts as large.
  static let inlineLimit = 256
  static let unreadable = Data("?".utf8)

  subscript(field: Field) -> Int? {
    get {
      switch field {
      case .first: first
      case .second: second
      case .count: count
      case .extra: extra
      }
    }
    set {
      switch field {
      case .first: first = newValue
      case .second: second = newValue
      case .count: count = newValue
      case .extra: extra = newValue
      }
    }
  }

  init() {}

  /// Reads what ``data`` makes, in whatever order a merge has brought it.
  init?(_ data: Data) {
    guard data.first == UInt8(ascii: "{"), let read = try? Self.decoder?.decode(Self.self, from: data) else {
      return nil
    }
    self = read
  }

  var description: String { SimulatedTrace.text(data) }

  var data: Data {
    guard var data = try? Self.encoder?.encode(self) else { return Self.unreadable }
    // Every now and then it is large.
    if first?.isMultiple(of: 5) ?? false { data += Self.padding }
    return data
  }

  /// What the types of the collections know.
  var formed: FormedDocument? {
    guard let encoder = Self.encoder, let decoder = Self.decoder else { return nil }
    return try? encoder.encode(self, formsReadBy: decoder).formed()
  }

  private static let encoder = DocumentEncoder(JSONEncoder())
  private static let decoder = DocumentDecoder(JSONDecoder())
  private static let padding = Data(repeating: UInt8(ascii: " "), count: inlineLimit)
}

/// As a history has it: what merges by itself is a field of its own.
extension SimulatedDocument {
  static let sumField = "sum"

  static func field(of element: Int) -> String { "set[\(element)]" }
  static func field(of key: String) -> String { "map[\(key)]" }

  /// The fields of an element of the list that has them all.
  static func fields(of item: Item) -> [String: String] {
    var fields: [String: String] = [:]
    if let n = item.n { fields["list[\(item.id)].n"] = String(n) }
    if let m = item.m { fields["list[\(item.id)].m"] = String(m) }
    if let x = item.x { fields["list[\(item.id)].x"] = String(x) }
    return fields
  }

  var recorded: History.Document { History.Document(fields) }

  private var fields: [String: String] {
    var fields: [String: String] = [:]
    fields.reserveCapacity(16)
    for field in Field.allCases {
      if let number = self[field] { fields[field.key] = String(number) }
    }
    if list != nil { fields["list"] = "[…]" }
    if set != nil { fields["set"] = "[…]" }
    if map != nil { fields["map"] = "{…}" }
    for item in list ?? [] { fields.merge(Self.fields(of: item)) { $1 } }
    for element in set ?? [] { fields[Self.field(of: element)] = "true" }
    for (key, number) in map ?? [:] { fields[Self.field(of: key)] = String(number) }
    if let sum { fields[Self.sumField] = String(sum.value) }
    return fields
  }
}
