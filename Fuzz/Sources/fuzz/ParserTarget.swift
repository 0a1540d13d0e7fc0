import Foundation

@testable import SharedState

/// Checks that the parser accepts the same JSON as Foundation, except for documented differences, and that all
/// positions are right.
enum ParserTarget {
  static func run(_ data: Data) {
    let object = try? JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed)
    let isDecodable = (try? JSONDecoder().decode(Anything.self, from: data)) != nil
    let document: JSONDocument
    do throws(JSONParsingError) { document = try JSONDocument(parsing: data) } catch {
      check(0...data.count ~= error.offset, "byte \(error.offset) of \(data.count)")
      let isRefused = object == nil || isForFoundationOnly(data)
      check(isRefused, "Foundation reads text that is refused: \(error)")
      return
    }
    check(isDecodable, "Foundation reads nothing")
    check(object != nil || hasOddities(document), "JSONSerialization reads nothing")
    check(document.data == data, "other bytes")
    checkNodes(of: document)
    check(document.hasSameValue(as: document), "not equal to itself")
    if let object { checkValue(object, 0, of: document) }
  }

  /// Commas in front of brackets, and encodings other than UTF-8: Foundation accepts them against the standard.
  private static func isForFoundationOnly(_ data: Data) -> Bool {
    if data.contains(0) || data.starts(with: [0xFF, 0xFE]) || data.starts(with: [0xFE, 0xFF]) { return true }
    var isBehindComma = false
    for byte in data where !" \t\r\n".utf8.contains(byte) {
      if isBehindComma, "]}".utf8.contains(byte) { return true }
      isBehindComma = byte == UInt8(ascii: ",")
    }
    return false
  }

  /// Numbers out of range, and halves of surrogate pairs, which only matter to a program that reads them.
  private static func hasOddities(_ document: JSONDocument) -> Bool {
    document.nodes.indices.contains { node in
      switch document.nodes[node].kind {
      case .number: Double(text(of: node, document)).map { !$0.isFinite || $0.isZero } ?? true
      case .string: String(validating: JSONStringBytes(document.contents(of: node)), as: UTF8.self) == nil
      default: false
      }
    }
  }

  private static func text(of node: Int, _ document: JSONDocument) -> String {
    String(decoding: document.text(of: node), as: UTF8.self)
  }

  /// Checks that every value lies within its parent, after its predecessor, and has the kind that its first byte
  /// implies.
  private static func checkNodes(of document: JSONDocument) {
    var ends: [Int] = []
    var position = 0
    for (number, node) in document.nodes.enumerated() {
      while let end = ends.last, Int(document.nodes[end].next) <= number {
        position = document.nodes[ends.removeLast()].range.upperBound
      }
      let bounds = ends.last.map { document.nodes[$0].range } ?? document.bytes.indices
      check(bounds.lowerBound <= node.lower && node.range.upperBound <= bounds.upperBound, "node \(number) is outside")
      check(node.lower >= position && !node.range.isEmpty, "node \(number) is too early")
      check(number < node.next && Int(node.next) <= document.nodes.count, "node \(number) has no end")
      let isContainer = node.kind == .array || node.kind == .object
      position = isContainer ? Int(node.lower) + 1 : node.range.upperBound
      if isContainer { ends.append(number) }
      check(ends.count <= JSONDocument.maximumDepth, "too deep")
      let first = document.bytes[Int(node.lower)]
      let isRight =
        switch node.kind {
        case .null: text(of: number, document) == "null"
        case .true: text(of: number, document) == "true"
        case .false: text(of: number, document) == "false"
        case .number: first == UInt8(ascii: "-") || 0x30...0x39 ~= first
        case .string: first == UInt8(ascii: "\"") && document.text(of: number).last == first && node.range.count > 1
        case .array: first == UInt8(ascii: "[") && document.text(of: number).last == UInt8(ascii: "]")
        case .object: first == UInt8(ascii: "{") && document.text(of: number).last == UInt8(ascii: "}")
        }
      check(isRight, "node \(number) is no \(node.kind)")
    }
  }

  /// Checks that the values are those that Foundation finds.
  private static func checkValue(_ value: Any, _ node: Int, of document: JSONDocument) {
    switch document.nodes[node].kind {
    case .null: check(value is NSNull, "no null")
    case .true: check(value as? Bool == true, "not true")
    case .false: check(value as? Bool == false, "not false")
    case .number: check(value is NSNumber, "no number")
    case .string:
      let string = String(validating: JSONStringBytes(document.contents(of: node)), as: UTF8.self)
      check(hasMark(string) || value as? String == string, "another string")
    case .array:
      guard let elements = value as? [Any] else { fatalError("no array") }
      var element = node + 1
      for value in elements {
        check(element < document.nodes[node].next, "too few elements")
        checkValue(value, element, of: document)
        element = Int(document.nodes[element].next)
      }
      check(element == document.nodes[node].next, "too many elements")
    case .object:
      guard let members = value as? [String: Any] else { fatalError("no object") }
      for member in document.members(of: node) {
        guard let name = String(validating: JSONStringBytes(document.contents(of: member.key)), as: UTF8.self) else {
          fatalError("not a name")
        }
        check(hasMark(name) || members[name] != nil, "a member is missing")
        let found = document.member(of: node, at: member.key, in: document)?.key
        check(found.map { $0 <= member.key } ?? false, "a member is not found")
        if !document.nodes[node].hasRepetitions { check(found == member.key, "another member is found") }
      }
    }
  }

  /// Foundation loses some byte order marks within strings.
  private static func hasMark(_ string: String?) -> Bool {
    string?.unicodeScalars.contains("\u{FEFF}") ?? false
  }

  /// Decodes any JSON, and ignores its contents.
  private struct Anything: Decodable {
    init(from decoder: any Decoder) throws {}
  }
}
