import Foundation

/// Strings, numbers and Booleans, and the errors when there are none.
extension DocumentReader {
  func string(at node: Int) throws -> String {
    guard kind(node) == .string else { throw mismatch(String.self, at: node) }
    guard let string = validString(at: node) else {
      throw corrupted("The string has half of a surrogate pair.", at: node)
    }
    return string
  }

  /// A string or a key; `nil` when it has half of a surrogate pair.
  func validString(at node: Int) -> String? {
    let value = document.nodes[node]
    if !value.hasEscapes {
      let range = (Int(value.lower) + 1)..<(Int(value.upper) - 1)
      return document.bytes.withUnsafeBufferPointer { bytes in
        String(decoding: UnsafeBufferPointer(rebasing: bytes[range]), as: UTF8.self)
      }
    }
    return String(validating: Array(JSONStringBytes(document.contents(of: node))), as: UTF8.self)
  }

  func bool(at node: Int) throws -> Bool {
    switch kind(node) {
    case .true: return true
    case .false: return false
    default: throw mismatch(Bool.self, at: node, isAlwaysOfType: true)
    }
  }

  @inline(__always)
  func integer<Integer: FixedWidthInteger>(_ type: Integer.Type, at node: Int) throws -> Integer {
    let value = document.nodes[node]
    guard value.kind == .number else { throw mismatch(type, at: node) }
    let integer: Integer? = document.bytes.withUnsafeBufferPointer { bytes in
      NumberText(UnsafeBufferPointer(rebasing: bytes[value.range])).integer()
    }
    guard let integer else { throw corrupted("The number does not fit in \(type).", expected: "\(type)", at: node) }
    return integer
  }

  func float<Float: DecodableFloat>(_ type: Float.Type, at node: Int) throws -> Float {
    let value = document.nodes[node]
    if value.kind == .string, case .convertFromString(let positive, let negative, let nan) = options.floats {
      switch try string(at: node) {
      case positive: return .infinity
      case negative: return -.infinity
      case nan: return .nan
      default: throw mismatch(type, at: node)
      }
    }
    guard value.kind == .number else { throw mismatch(type, at: node) }
    let number: Float? = document.bytes.withUnsafeBufferPointer { bytes in
      NumberText(UnsafeBufferPointer(rebasing: bytes[value.range])).float()
    }
    guard let number else { throw corrupted("The number does not fit in \(type).", expected: "\(type)", at: node) }
    return number
  }

  func decimal(at node: Int) throws -> Decimal {
    guard kind(node) == .number else { throw mismatch(Decimal.self, at: node) }
    let text = String(decoding: document.text(of: node), as: UTF8.self)
    guard let decimal = Decimal(string: text), decimal.isFinite else {
      throw corrupted("The number does not fit in Decimal.", expected: "Decimal", at: node)
    }
    return decimal
  }

  // MARK: Errors

  /// The error of a value that is `null` or of another kind.
  /// - Parameter isAlwaysOfType: Whether `null` is a mismatch like any other, as `JSONDecoder` has it for Booleans.
  func mismatch(_ type: Any.Type, at node: Int, isAlwaysOfType: Bool = false) -> DecodingError {
    let found = kind(node)
    let context = DecodingError.Context(
      codingPath: codingPath(to: node),
      debugDescription: "Expected to decode \(type) but found \(found.name)."
    )
    return found == .null && !isAlwaysOfType ? .valueNotFound(type, context) : .typeMismatch(type, context)
  }

  /// The error of a value of the right kind that the type does not accept.
  /// - Parameter expected: What the type accepts, as a ``DecodingFailure`` says it.
  func corrupted(_ description: String, expected: String? = nil, at node: Int) -> DecodingError {
    .dataCorrupted(
      .init(
        codingPath: codingPath(to: node),
        debugDescription: description,
        underlyingError: expected.map { UnacceptedValue(expected: $0) }
      )
    )
  }
}

extension JSONNode.Kind {
  /// The name of the kind in messages.
  var name: String {
    switch self {
    case .null: "null"
    case .true, .false: "a Boolean"
    case .number: "a number"
    case .string: "a string"
    case .array: "an array"
    case .object: "an object"
    }
  }
}
