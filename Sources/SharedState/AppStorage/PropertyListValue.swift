import Foundation

/// A value as `UserDefaults` stores it, independent of the object that represents it in memory.
enum PropertyListValue: Equatable, Sendable {
  case boolean(Bool)
  case integer(Int)
  case real(Double)
  case string(String)
  case date(Date)
  case data(Data)
  case array([PropertyListValue])
  case dictionary([String: PropertyListValue])
  /// An object that no property list can hold.
  case other

  /// Reads the result of `UserDefaults.object(forKey:)`.
  init(_ object: Any) {
    switch object {
    // First, because one object can be cast to a boolean, an integer and a real number.
    case let number as NSNumber: self = Self.number(number)
    case let value as String: self = .string(value)
    case let value as Date: self = .date(value)
    case let value as Data: self = .data(value)
    case let values as [Any?]: self = .array(values.map { $0.map(PropertyListValue.init) ?? .other })
    case let values as [AnyHashable: Any?]:
      let pairs = values.map { (String(describing: $0.key.base), $0.value.map(PropertyListValue.init) ?? .other) }
      self = .dictionary(Dictionary(pairs) { _, last in last })
    default: self = .other
    }
  }

  /// Unlike the numbers themselves, two that are no number are equal: the value has not changed.
  static func == (lhs: Self, rhs: Self) -> Bool {
    switch (lhs, rhs) {
    case (.boolean(let lhs), .boolean(let rhs)): lhs == rhs
    case (.integer(let lhs), .integer(let rhs)): lhs == rhs
    case (.real(let lhs), .real(let rhs)): isSame(lhs, rhs)
    case (.string(let lhs), .string(let rhs)): lhs == rhs
    case (.date(let lhs), .date(let rhs)):
      isSame(lhs.timeIntervalSinceReferenceDate, rhs.timeIntervalSinceReferenceDate)
    case (.data(let lhs), .data(let rhs)): lhs == rhs
    case (.array(let lhs), .array(let rhs)): lhs == rhs
    case (.dictionary(let lhs), .dictionary(let rhs)): lhs == rhs
    case (.other, .other): true
    default: false
    }
  }

  private static func isSame(_ lhs: Double, _ rhs: Double) -> Bool { lhs == rhs || lhs.isNaN && rhs.isNaN }

  /// The kind of value, for messages that must not show the value.
  var kind: String {
    switch self {
    case .boolean: "a boolean"
    case .integer: "an integer"
    case .real: "a real number"
    case .string: "a string"
    case .date: "a date"
    case .data: "data"
    case .array: "an array"
    case .dictionary: "a dictionary"
    case .other: "an object"
    }
  }

  /// The data; `nil` for every other kind of value.
  var data: Data? {
    guard case .data(let data) = self else { return nil }
    return data
  }

  private static func number(_ number: NSNumber) -> PropertyListValue {
    switch UInt8(bitPattern: number.objCType.pointee) {
    case UInt8(ascii: "c"), UInt8(ascii: "B"): .boolean(number.boolValue)
    case UInt8(ascii: "d"), UInt8(ascii: "f"): .real(number.doubleValue)
    default: .integer(number.intValue)
    }
  }
}
