@testable import SharedState
import Foundation

/// A value of a document, for tests, where recursion is no danger.
struct JSONValue: Sendable {
  struct Unexpected: Error {
    var what: String
  }

  let document: JSONDocument
  let node: Int

  init(_ document: JSONDocument, _ node: Int = 0) {
    self.document = document
    self.node = node
  }

  init(_ text: String) throws {
    self.init(try JSONDocument(parsing: Data(text.utf8)))
  }

  var kind: JSONNode.Kind { document.nodes[node].kind }
  var isNull: Bool { kind == .null }
  var text: [UInt8] { Array(document.text(of: node)) }

  /// The bytes that a string means; not UTF-8 with a lone surrogate.
  var stringBytes: [UInt8] { Array(JSONStringBytes(document.contents(of: node))) }

  var string: String {
    get throws {
      guard kind == .string else { throw Unexpected(what: "no string") }
      return String(decoding: stringBytes, as: UTF8.self)
    }
  }

  /// The members in the order of the text, including repeated ones.
  var members: [(key: JSONValue, name: String, value: JSONValue)] {
    document.members(of: node).map {
      let key = JSONValue(document, $0.key)
      return (key, String(decoding: key.stringBytes, as: UTF8.self), JSONValue(document, $0.value))
    }
  }

  /// The members without repetitions.
  var countedMembers: [(key: JSONValue, name: String, value: JSONValue)] {
    var seen: Set<[UInt8]> = []
    return members.filter { seen.insert($0.key.stringBytes).inserted }
  }

  var onlyMember: (name: String, value: JSONValue)? {
    let members = members
    return members.count == 1 ? (members[0].name, members[0].value) : nil
  }

  var elements: [JSONValue] {
    kind == .array ? JSONItems(document, of: node).map { JSONValue(document, $0.node) } : []
  }

  subscript(name: String) -> JSONValue? {
    members.first { $0.key.stringBytes == Array(name.utf8) }?.value
  }

  func member(_ name: String) throws -> JSONValue {
    guard let value = self[name] else { throw Unexpected(what: "no member \(name)") }
    return value
  }
}
