import Foundation
import Synchronization

/// Writes the values of one type.
///
/// There is one for each type, which depends on no value, so that it is found once and kept.
class TypeEncoding: @unchecked Sendable {
  // `@unchecked Sendable` is right because subclasses have only constants and atomic properties.

  private static let registry = TypeRegistry<TypeEncoding>()

  /// Finds the encoding of a type.
  static func of<Value: Encodable>(_ type: Value.Type) -> ValueEncoding<Value> {
    // The encoding that is registered for a type is made for it.
    unsafeDowncast(registry.role(of: type) { make(type) }, to: ValueEncoding<Value>.self)
  }

  private static func make<Value: Encodable>(_ type: Value.Type) -> ValueEncoding<Value> {
    let known: TypeEncoding? =
      switch type {
      case let type as any DirectlyEncodable.Type: type.directEncoding
      case is Date.Type: DateEncoding()
      case is Data.Type: DataEncoding()
      case is URL.Type: URLEncoding()
      case is Decimal.Type: DecimalEncoding()
      case let type as any CollectionEncodable.Type: type.collectionEncoding
      case let type as any IdentityList.Type: type.listEncoding
      default: nil
      }
    let own = known as? ValueEncoding<Value> ?? PlainEncoding<Value>()
    guard let type = type as? any ThreeWayMergeable.Type else { return own }
    return type.mergeableEncoding(own) as? ValueEncoding<Value> ?? own
  }
}

/// Writes the values of a type, which is known here.
class ValueEncoding<Value>: TypeEncoding, @unchecked Sendable {
  /// Writes a value.
  /// - Parameter key: The key of the value in the value around it; `nil` for an element.
  func write(_ value: Value, key: (any CodingKey)?, to writer: DocumentWriter) throws {
    preconditionFailure("Each kind of type writes its values in its own way.")
  }
}

extension DocumentWriter {
  /// Finds the encoding of a type.
  @inline(__always)
  func encoding<Value: Encodable>(of type: Value.Type) -> ValueEncoding<Value> {
    let encoding = recognized.role(of: type) { TypeEncoding.of(type) }
    // The registry has made it for this type.
    return unsafeDowncast(encoding, to: ValueEncoding<Value>.self)
  }

  /// Calls a closure with the encoder of a value.
  func write(key: (any CodingKey)?, _ body: (ValueEncoder) throws -> Void) throws {
    let (depth, id) = try push(key)
    try body(ValueEncoder(writer: self, depth: depth, id: id))
    try pop()
  }
}

/// A type that writes itself.
final class PlainEncoding<Value: Encodable>: ValueEncoding<Value>, @unchecked Sendable {
  private enum Kind: UInt8 { case unknown, enumeration, other }

  /// Determined at first use, because that takes longer than writing a small value.
  private let kind = Atomic(Kind.unknown.rawValue)

  override func write(_ value: Value, key: (any CodingKey)?, to writer: DocumentWriter) throws {
    let start = writer.text.count
    let (depth, id) = try writer.push(key)
    try value.encode(to: ValueEncoder(writer: writer, depth: depth, id: id))
    let isObject = writer.levels[depth].content == .object
    let isCase = writer.levels[depth].isCase && writer.levels[depth].count == 1
    if depth == 0, start == 0, writer.parent == nil, writer.levels[depth].content == .nothing {
      let description = "Top-level \(Value.self) did not encode any values."
      throw EncodingError.invalidValue(value, .init(codingPath: [], debugDescription: description))
    }
    try writer.pop()
    if isObject, let forms = writer.forms, isEnumeration(value) {
      forms.append(isCase ? .enumeration : .leaf, at: start)
    }
  }

  private func isEnumeration(_ value: Value) -> Bool {
    switch Kind(rawValue: kind.load(ordering: .relaxed)) {
    case .enumeration: return true
    case .other: return false
    case .unknown, nil:
      let isEnumeration = Mirror(reflecting: value).displayStyle == .enum
      kind.store((isEnumeration ? Kind.enumeration : .other).rawValue, ordering: .relaxed)
      return isEnumeration
    }
  }
}

/// A number, a string or a Boolean.
protocol DirectlyEncodable: Encodable {
  func write(key: (any CodingKey)?, to writer: DocumentWriter) throws
}

extension DirectlyEncodable {
  static var directEncoding: TypeEncoding { DirectEncoding<Self>() }
}

private final class DirectEncoding<Value: DirectlyEncodable>: ValueEncoding<Value>, @unchecked Sendable {
  override func write(_ value: Value, key: (any CodingKey)?, to writer: DocumentWriter) throws {
    try value.write(key: key, to: writer)
  }
}

extension DirectlyEncodable where Self: FixedWidthInteger {
  @inline(__always)
  func write(key: (any CodingKey)?, to writer: DocumentWriter) { writer.text.append(self) }
}

extension Int: DirectlyEncodable {}
extension Int8: DirectlyEncodable {}
extension Int16: DirectlyEncodable {}
extension Int32: DirectlyEncodable {}
extension Int64: DirectlyEncodable {}
extension Int128: DirectlyEncodable {}
extension UInt: DirectlyEncodable {}
extension UInt8: DirectlyEncodable {}
extension UInt16: DirectlyEncodable {}
extension UInt32: DirectlyEncodable {}
extension UInt64: DirectlyEncodable {}
extension UInt128: DirectlyEncodable {}

extension String: DirectlyEncodable {
  @inline(__always)
  func write(key: (any CodingKey)?, to writer: DocumentWriter) {
    writer.text.append(quoted: self, escapingSlashes: writer.options.escapesSlashes)
  }
}

extension Bool: DirectlyEncodable {
  @inline(__always)
  func write(key: (any CodingKey)?, to writer: DocumentWriter) {
    writer.text.append(self ? "true" : "false")
  }
}

extension DirectlyEncodable where Self: BinaryFloatingPoint & LosslessStringConvertible {
  func write(key: (any CodingKey)?, to writer: DocumentWriter) throws {
    if isFinite {
      writer.text.append(self)
    } else if case .convertToString(let positive, let negative, let nan) = writer.options.floats {
      (isNaN ? nan : self > 0 ? positive : negative).write(key: key, to: writer)
    } else {
      let name = isNaN ? "nan" : self > 0 ? "infinity" : "-infinity"
      let description = "\(Self.self).\(name) is no JSON number; set a NonConformingFloatEncodingStrategy to write it."
      throw EncodingError.invalidValue(
        self,
        .init(codingPath: writer.codingPath(to: key), debugDescription: description)
      )
    }
  }
}

extension Double: DirectlyEncodable {}
extension Float: DirectlyEncodable {}

/// A value that is being written: a call of `encode(to:)` that has not returned.
struct EncodingLevel {
  /// The content that was written so far.
  enum Content { case nothing, single, array, object }

  /// Distinguishes it from earlier values at the same depth.
  let id: Int
  /// The offset of its text.
  let start: Int
  /// Its key in the value around it, unless it is an element.
  var key: (any CodingKey)?
  var content = Content.nothing
  /// The number of its elements or members.
  var count = 0
  /// Whether its members are those of an enum with a payload.
  var isCase = false
  /// The index of the first hash of its names.
  let firstHash: Int
  /// A bit for each hash, by which most names are quickly known to be new.
  var seen: UInt64 = 0
}

/// A place of a ``DocumentWriter``, to go back to when a value cannot be written.
struct EncodingMark {
  let bytes: Int
  /// The number of values that are being written, followed by the state of the innermost.
  let depth: Int
  let content: EncodingLevel.Content
  let count: Int
  let seen: UInt64
  let isCase: Bool
  let hashes: Int
  let inserts: Int
  let forms: Int
  let merges: Int
}
