/// Why bytes are not a JSON document, and where. It shows nothing of them.
package struct JSONParsingError: Error, Hashable, Sendable {
  package enum Reason: Hashable, Sendable {
    case unexpectedEnd
    case unexpectedByte
    case invalidUTF8
    /// Arrays and objects are nested more than ``JSONDocument/maximumDepth`` levels deep.
    case tooDeep
    /// Longer than any string in Redis.
    case tooLong
  }

  package var reason: Reason
  /// How many bytes come before the one in question.
  package var offset: Int
}

extension JSONParsingError: CustomStringConvertible {
  package var description: String {
    let reason =
      switch reason {
      case .unexpectedEnd: "the JSON document ends too early"
      case .unexpectedByte: "the JSON document has a byte that does not belong there"
      case .invalidUTF8: "the JSON document is not valid UTF-8"
      case .tooDeep: "the JSON document is nested too deeply"
      case .tooLong: "the JSON document is too long"
      }
    return "\(reason), at byte \(offset)"
  }
}
