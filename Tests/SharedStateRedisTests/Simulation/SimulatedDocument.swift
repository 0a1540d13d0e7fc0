import Foundation
@testable import SharedStateRedis
import SharedStateTesting

/// A stored document: a number for each field that it has.
struct SimulatedDocument: Hashable, CustomStringConvertible {
  enum Field: Int, CaseIterable {
    case first
    /// An older release does not know it.
    case second
    /// Only atomic updates change it.
    case count
    /// No service knows it.
    case extra

    var key: String {
      switch self {
      case .first: "first"
      case .second: "second"
      case .count: "count"
      case .extra: "extra"
      }
    }

    fileprivate init?(letter: UInt8) {
      switch letter {
      case UInt8(ascii: "f"): self = .first
      case UInt8(ascii: "s"): self = .second
      case UInt8(ascii: "c"): self = .count
      case UInt8(ascii: "e"): self = .extra
      default: return nil
      }
    }
  }

  /// What is longer counts as large.
  static let inlineLimit = 64
  static let unreadable = Data("?".utf8)

  private var numbers: SIMD4<Int> = .init(repeating: -1)

  subscript(field: Field) -> Int? {
    get { numbers[field.rawValue] < 0 ? nil : numbers[field.rawValue] }
    set { numbers[field.rawValue] = newValue ?? -1 }
  }

  init() {}

  /// Reads what ``data`` makes, in whatever order a merge has brought it.
  init?(_ data: Data) {
    guard data.first == UInt8(ascii: "{") else { return nil }
    var field: Field?
    for byte in data {
      switch byte {
      case UInt8(ascii: "{"), UInt8(ascii: ","): field = nil
      case UInt8(ascii: "0")...UInt8(ascii: "9"):
        guard let field else { return nil }
        self[field] = (self[field] ?? 0) * 10 + Int(byte - UInt8(ascii: "0"))
      default:
        if field == nil { field = Field(letter: byte) }
      }
    }
  }

  var description: String { SimulatedTrace.text(data) }

  /// As a history has it.
  var recorded: History.Document {
    var fields: [String: String] = [:]
    for field in Field.allCases {
      if let number = self[field] { fields[field.key] = String(number) }
    }
    return History.Document(fields)
  }

  /// Every now and then it is large.
  var data: Data {
    var text = "{"
    for field in Field.allCases {
      guard let number = self[field] else { continue }
      if text.utf8.count > 1 { text += "," }
      text += "\"\(field.key)\":\(number)"
    }
    text += "}"
    if self[.first]?.isMultiple(of: 5) ?? false { text += String(repeating: " ", count: Self.inlineLimit) }
    return Data(text.utf8)
  }
}
