import Foundation

/// Reads the values of one type.
///
/// There is one for each type, which depends on no document, so that it is found once and kept.
class TypeDecoding: @unchecked Sendable {
  // `@unchecked Sendable` is right because subclasses have only constants.

  private static let registry = TypeRegistry<TypeDecoding>()

  /// Finds the decoding of a type.
  static func of<Value: Decodable>(_ type: Value.Type) -> ValueDecoding<Value> {
    // The decoding that is registered for a type is made for it.
    unsafeDowncast(registry.role(of: type) { make(type) }, to: ValueDecoding<Value>.self)
  }

  private static func make<Value: Decodable>(_ type: Value.Type) -> ValueDecoding<Value> {
    let known: TypeDecoding? =
      switch type {
      case let type as any DirectlyDecodable.Type: type.directDecoding
      case is Date.Type: DateDecoding()
      case is Data.Type: DataDecoding()
      case is URL.Type: URLDecoding()
      case is Decimal.Type: DecimalDecoding()
      case let type as any CollectionDecodable.Type: type.collectionDecoding
      default: nil
      }
    return known as? ValueDecoding<Value> ?? PlainDecoding<Value>()
  }
}

/// Reads the values of a type, which is known here.
class ValueDecoding<Value>: TypeDecoding, @unchecked Sendable {
  /// Reads a value.
  func read(at place: ReadingPlace, from reader: DocumentReader) throws -> Value {
    preconditionFailure("Each kind of type reads its values in its own way.")
  }
}

/// A type that reads itself.
final class PlainDecoding<Value: Decodable>: ValueDecoding<Value>, @unchecked Sendable {
  override func read(at place: ReadingPlace, from reader: DocumentReader) throws -> Value {
    try reader.call(at: place) { try Value(from: $0) }
  }
}

extension DocumentReader {
  /// Calls a closure with the decoder of a value.
  @inline(__always)
  func call<Value>(at place: ReadingPlace, _ body: (ValueDecoder) throws -> Value) throws -> Value {
    guard calls < Self.maximumCalls, !stack.isSpent() else {
      throw corrupted("The value is nested too deeply.", at: place.node)
    }
    calls += 1
    defer { calls -= 1 }
    let count = completed.count
    do {
      return try body(ValueDecoder(reader: self, place: place))
    } catch {
      completed.removeLast(completed.count - count)
      throw error
    }
  }
}

/// A number, a string or a Boolean.
protocol DirectlyDecodable: Decodable {
  static func read(_ node: Int, from reader: DocumentReader) throws -> Self
}

extension DirectlyDecodable {
  static var directDecoding: TypeDecoding { DirectDecoding<Self>() }
}

private final class DirectDecoding<Value: DirectlyDecodable>: ValueDecoding<Value>, @unchecked Sendable {
  override func read(at place: ReadingPlace, from reader: DocumentReader) throws -> Value {
    try Value.read(place.node, from: reader)
  }
}

extension DirectlyDecodable where Self: FixedWidthInteger {
  @inline(__always)
  static func read(_ node: Int, from reader: DocumentReader) throws -> Self { try reader.integer(Self.self, at: node) }
}

extension DirectlyDecodable where Self: DecodableFloat {
  static func read(_ node: Int, from reader: DocumentReader) throws -> Self { try reader.float(Self.self, at: node) }
}

extension Int: DirectlyDecodable {}
extension Int8: DirectlyDecodable {}
extension Int16: DirectlyDecodable {}
extension Int32: DirectlyDecodable {}
extension Int64: DirectlyDecodable {}
extension Int128: DirectlyDecodable {}
extension UInt: DirectlyDecodable {}
extension UInt8: DirectlyDecodable {}
extension UInt16: DirectlyDecodable {}
extension UInt32: DirectlyDecodable {}
extension UInt64: DirectlyDecodable {}
extension UInt128: DirectlyDecodable {}
extension Double: DirectlyDecodable {}
extension Float: DirectlyDecodable {}

extension String: DirectlyDecodable {
  static func read(_ node: Int, from reader: DocumentReader) throws -> String { try reader.string(at: node) }
}

extension Bool: DirectlyDecodable {
  static func read(_ node: Int, from reader: DocumentReader) throws -> Bool { try reader.bool(at: node) }
}
