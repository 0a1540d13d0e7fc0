package import Foundation

/// Why a document could not be read, without any of its values.
package struct DecodingFailure: Error, Equatable, Sendable {
  /// The names and indexes that lead to the value that could not be read, see ``PathText``; `nil` when the document is
  /// not JSON at all.
  package let path: String?
  /// The kind of value that was expected there.
  package let expected: String
  /// The kind of value that was found instead, or "nothing"; `nil` when the kind was right.
  package let found: String?

  /// Takes the error of a parser.
  package init(_ error: JSONParsingError) {
    let expected =
      switch error.reason {
      case .unexpectedEnd, .unexpectedByte, .invalidUTF8: "JSON"
      case .tooDeep: "at most \(JSONDocument.maximumDepth) levels"
      case .tooLong: "a shorter document"
      }
    let found =
      switch error.reason {
      case .unexpectedEnd, .unexpectedByte, .invalidUTF8: "not JSON at byte \(error.offset)"
      case .tooDeep: "more at byte \(error.offset)"
      case .tooLong: "more than \(error.offset) bytes"
      }
    (path, self.expected, self.found) = (nil, expected, found)
  }

  /// Takes the error of a decoder.
  /// - Parameters:
  ///   - error: The error of reading the document.
  ///   - document: The document; `nil` when it is unknown, so that the found kind is unknown, too.
  package init(_ error: DecodingError, in document: JSONDocument? = nil) {
    var (keys, expected, found): ([any CodingKey], String, String?)
    switch error {
    case .typeMismatch(let type, let context) where context.debugDescription.hasPrefix(Self.noCaseOfPayload):
      (keys, expected) = (context.codingPath, "a case of \(type)")
      found = document?.node(at: context.codingPath).map { document?.nodes[$0].kind.otherName ?? "" }
    case .typeMismatch(let type, let context):
      (keys, expected) = (context.codingPath, Self.name(of: type))
      found = document?.node(at: context.codingPath).map { document?.nodes[$0].kind.name ?? "" }
    case .valueNotFound(let type, let context):
      (keys, expected, found) = (context.codingPath, Self.name(of: type), "null")
      if let document, document.node(at: context.codingPath) == nil { found = "nothing" }
    case .keyNotFound(let key, let context):
      (keys, expected, found) = (context.codingPath + [key], "a value", "nothing")
    case .dataCorrupted(let context):
      if let error = context.underlyingError as? JSONParsingError {
        self.init(error)
        return
      }
      if let expectedHere = Self.expected(by: context) {
        (keys, expected) = (context.codingPath, expectedHere)
        found = document?.node(at: context.codingPath).map { document?.nodes[$0].kind.otherName ?? "" }
        break
      }
      // The description of another decoder may show a value.
      (keys, expected, found) = (context.codingPath, "a value that its type accepts", nil)
      found = document?.node(at: context.codingPath).map { document?.nodes[$0].kind.name ?? "" }
    @unknown default: (keys, expected, found) = ([], "a value that its type accepts", nil)
    }
    self.init(keys, expected: expected, found: found)
  }

  /// Takes the error of a decoder.
  /// - Parameter text: The document as it is stored.
  package init(_ error: DecodingError, in text: Data?) {
    self.init(error, in: text.flatMap { try? JSONDocument(parsing: $0) })
  }

  private init(_ keys: [any CodingKey], expected: String, found: String?) {
    path = PathText.text(of: keys)
    self.expected = expected
    self.found = found
  }

  /// The beginning of the compiler's own error for an object that is no case of an enum with a payload.
  private static let noCaseOfPayload = "Invalid number of keys found"

  /// The values that a type accepts, if the error of a value of the right kind names them.
  private static func expected(by context: DecodingError.Context) -> String? {
    if let value = context.underlyingError as? UnacceptedValue { return value.expected }
    // The standard library writes "Cannot initialize Plan from invalid String value …" for an unknown case of an enum.
    let words = context.debugDescription.split(separator: " ", maxSplits: 5)
    guard words.count > 4, words[0] == "Cannot", words[1] == "initialize", words[3] == "from", words[4] == "invalid",
      words[2].allSatisfy({ $0.isLetter || $0.isNumber || "_.<>".contains($0) })
    else { return nil }
    return "a case of \(words[2])"
  }

  private static func name(of type: Any.Type) -> String {
    switch type {
    case is [String: Any].Type: "an object"
    case is [Any].Type: "an array"
    default: "\(type)"
    }
  }
}

extension DecodingFailure: CustomStringConvertible {
  package var description: String {
    guard let path else { return expected == "JSON" ? found ?? "" : "expected \(expected), found \(found ?? "")" }
    return "\(path.isEmpty ? "the document" : path): expected \(expected)" + (found.map { ", found \($0)" } ?? "")
  }
}

/// The reason for an error of reading: the values that a type accepts, when the kind of value was right.
struct UnacceptedValue: Error {
  /// As in ``DecodingFailure/expected``.
  let expected: String
}

extension JSONNode.Kind {
  /// The name of a value that is of the expected kind, but none of the expected ones.
  fileprivate var otherName: String {
    name.firstIndex(of: " ").map { "another" + name[$0...] } ?? name
  }
}

extension JSONDocument {
  /// The value at the end of a path, if its names are those of the document.
  fileprivate func node(at path: [any CodingKey]) -> Int? {
    var node = 0
    for key in path {
      switch nodes[node].kind {
      case .object:
        var name = key.stringValue
        guard let found = name.withUTF8({ self.key(of: node, named: $0) }) else { return nil }
        node = found + 1
      case .array:
        guard let index = key.intValue, index >= 0 else { return nil }
        var element = node + 1
        for _ in 0..<index where element < nodes[node].next { element = Int(nodes[element].next) }
        guard element < nodes[node].next else { return nil }
        node = element
      default: return nil
      }
    }
    return node
  }
}
