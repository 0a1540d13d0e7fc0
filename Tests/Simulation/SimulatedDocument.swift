import Foundation
import SharedState
@testable import SharedStateRedis
import SharedStateRedisTesting

/// A stored document: a number for each field that it has, and collections that merge element by element.
///
/// It uses the encoder and the decoder of the library, so that their forms are under test as well.
struct SimulatedDocument: Hashable, Codable, CustomStringConvertible {
  enum Field: String, CaseIterable {
    case first
    /// A field that an older release does not know.
    case second
    /// A field that only atomic updates change.
    case count
    /// A field that no service knows.
    case extra

    var key: String { rawValue }
  }

  /// An element of the list.
  struct Item: Hashable, Codable, Identifiable {
    let id: Int
    var n: Int?
    /// A field that an older release does not know.
    var m: Int?
    /// A field that no service knows.
    var x: Int?
  }

  private var first: Int?
  private var second: Int?
  private var count: Int?
  private var extra: Int?
  var list: [Item]?
  var set: Set<Int>?
  /// A collection that an older release does not know.
  var map: [String: Int]?
  var sum: MergingCounter?

  /// The largest number of bytes of a document that does not count as large.
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

  /// Parses the output of ``data``, also if a merge has changed the order of members.
  init?(_ data: Data) {
    guard data.first == UInt8(ascii: "{"), let read = try? Self.decoder?.decode(Self.self, from: data) else {
      return nil
    }
    self = read
  }

  var description: String { SimulatedTrace.text(data) }

  var data: Data {
    guard var data = try? Self.encoder?.encode(self) else { return Self.unreadable }
    // Makes some documents large.
    if first?.isMultiple(of: 5) ?? false { data += Self.padding }
    return data
  }

  /// The document with the forms of its types.
  var formed: FormedDocument? {
    guard let encoder = Self.encoder, let decoder = Self.decoder else { return nil }
    return try? encoder.encode(self, formsReadBy: decoder).formed()
  }

  private static let encoder = DocumentEncoder(JSONEncoder())
  private static let decoder = DocumentDecoder(JSONDecoder())
  private static let padding = Data(repeating: UInt8(ascii: " "), count: inlineLimit)
}

/// The document in a history, where each part that merges on its own is a separate field.
extension SimulatedDocument {
  static let sumField = "sum"

  static func field(of element: Int) -> String { "set[\(element)]" }
  static func field(of key: String) -> String { "map[\(key)]" }

  /// The fields of an element of the list.
  static func fields(of item: Item) -> [String: String] {
    var fields: [String: String] = [:]
    if let n = item.n { fields["list[\(item.id)].n"] = String(n) }
    if let m = item.m { fields["list[\(item.id)].m"] = String(m) }
    if let x = item.x { fields["list[\(item.id)].x"] = String(x) }
    return fields
  }

  var recorded: RedisHistory.Document { RedisHistory.Document(fields) }

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
