@testable import SharedState
import Foundation

/// The output of an encoder for a value of a schema: its canonical JSON, and the forms of its parts.
struct SchemaEncoder {
  private(set) var text: [UInt8] = []
  private var forms: [Int: Form] = [:]
  private var count = 0
  /// Whether members that are nil are written as null.
  private let writesNull: Bool

  /// A value that was decoded from the stored document, completed from the default, and encoded.
  static func base(
    _ schema: Schema,
    stored: JSONValue,
    default completion: JSONValue? = nil,
    writesNull: Bool = false
  ) throws -> FormedDocument {
    var encoder = SchemaEncoder(writesNull: writesNull)
    encoder.write(schema, stored, default: completion, isStored: true)
    return try encoder.document()
  }

  /// A value as a type has written it: the members of its objects stay as they are.
  static func mine(_ schema: Schema, _ value: JSONValue) throws -> FormedDocument {
    var encoder = SchemaEncoder(writesNull: false)
    encoder.write(schema, value, default: nil, isStored: false)
    return try encoder.document()
  }

  private init(writesNull: Bool) {
    self.writesNull = writesNull
  }

  private func document() throws -> FormedDocument {
    FormedDocument(document: try JSONDocument(parsing: Data(text)), forms: forms)
  }

  private mutating func write(_ schema: Schema, _ value: JSONValue, default completion: JSONValue?, isStored: Bool) {
    guard schema.fits(value) else { return copy(value, isStored: isStored) }
    let node = count
    switch schema {
    case .leaf:
      // An encoder without forms could not write a leaf that is an object.
      forms[node] = .mergeable { _ in nil }
      copy(value, isStored: isStored)
    case .tally:
      forms[node] = .mergeable(Self.sum)
      copy(value, isStored: isStored)
    case .object(let members, let required):
      open("{")
      if isStored {
        writeStored(members, of: value, required, completion)
      } else {
        for member in value.countedMembers {
          let schema = members.first { $0.name == member.name }?.schema
          writeMember(key: member.key.text, isStored: isStored, schema ?? .leaf, member.value, nil)
        }
      }
      close("}")
    case .map(let key, let values):
      forms[node] = .map(MapForm { Self.read(key, JSONValue($0, $1)) })
      open("{")
      var entries: [[UInt8]: (key: [UInt8], value: JSONValue)] = [:]
      for member in value.members {
        let canonical = key.canonical(member.key.stringBytes)
        let written = canonical.map(Self.quoted) ?? member.key.text
        let identity = canonical ?? member.key.stringBytes
        if entries[identity] == nil { entries[identity] = (written, member.value) }
      }
      for entry in entries.values.sorted(by: { CanonicalOrder($0.key) < CanonicalOrder($1.key) }) {
        writeMember(key: entry.key, isStored: isStored, values, entry.value, nil)
      }
      close("}")
    case .set(let elements):
      var seen: Set<[UInt8]> = []
      let parts = value.elements.compactMap { element -> (identity: [UInt8], encoder: SchemaEncoder)? in
        let identity = elements.elementMeaning(of: element)
        guard seen.insert(identity).inserted else { return nil }
        return (identity, part(elements, element, isStored: isStored))
      }
      .sorted { CanonicalOrder($0.encoder.text) < CanonicalOrder($1.encoder.text) }
      let writesNull = writesNull
      forms[node] = .set(
        ElementForm(identities: parts.map { Identity($0.identity) }) { document, node in
          let element = JSONValue(document, node)
          guard elements.decodes(element) else { return nil }
          var encoder = SchemaEncoder(writesNull: writesNull)
          encoder.write(elements, element, default: nil, isStored: true)
          return Reading(identity: Identity(elements.elementMeaning(of: element)), text: encoder.text)
        }
      )
      open("[")
      for part in parts { append(part.encoder) }
      close("]")
    case .list(let names, let isUUID, let elements):
      let identities = value.elements.map { element in
        Identity(Schema.identity(of: element, names, isUUID: isUUID) ?? Array("?".utf8) + element.text)
      }
      forms[node] = .list(
        ElementForm(identities: identities) { document, node in
          Schema.identity(of: JSONValue(document, node), names, isUUID: isUUID)
            .map { Reading(identity: Identity($0)) }
        }
      )
      open("[")
      for element in value.elements { append(part(elements, element, isStored: isStored)) }
      close("]")
    case .enumeration(_, let payloads):
      forms[node] = .enumeration
      guard let (name, payload) = value.onlyMember, let key = value.members.first?.key else {
        return copy(value, isStored: isStored)
      }
      open("{")
      writeMember(
        key: key.text,
        isStored: isStored,
        payloads[name] ?? .object([], required: []),
        payload,
        nil,
        isWhole: payloads[name] == nil
      )
      close("}")
    }
  }

  private mutating func writeStored(
    _ members: [Schema.Member],
    of value: JSONValue,
    _ required: Set<String>,
    _ completion: JSONValue?
  ) {
    for member in members {
      let key = Self.quoted(Array(member.name.utf8))
      let completed = completion?[member.name].flatMap { $0.isNull ? nil : $0 }
      if let stored = value[member.name], !stored.isNull {
        writeMember(key: key, isStored: true, member.schema, stored, completed)
      } else if let completed, required.contains(member.name) {
        writeMember(key: key, isStored: true, member.schema, completed, nil)
      } else if writesNull {
        separate()
        text += key + Array(":null".utf8)
        count += 2
      }
    }
  }

  private mutating func writeMember(
    key: [UInt8],
    isStored: Bool,
    _ schema: Schema,
    _ value: JSONValue,
    _ completion: JSONValue?,
    isWhole: Bool = false
  ) {
    separate()
    text += key + [UInt8(ascii: ":")]
    count += 1
    if isWhole {
      copy(value, isStored: isStored)
    } else {
      write(schema, value, default: completion, isStored: isStored)
    }
  }

  private func part(_ schema: Schema, _ value: JSONValue, isStored: Bool) -> SchemaEncoder {
    var part = SchemaEncoder(writesNull: writesNull)
    part.write(schema, value, default: nil, isStored: isStored)
    return part
  }

  private mutating func append(_ part: SchemaEncoder) {
    separate()
    text += part.text
    for (node, form) in part.forms { forms[count + node] = form }
    count += part.count
  }

  /// Copies a value whose type is unknown; a stored one with canonical strings.
  private mutating func copy(_ value: JSONValue, isStored: Bool) {
    count += Int(value.document.nodes[value.node].next) - value.node
    text += isStored ? Self.canonicalText(of: value) : value.text
  }

  private static func canonicalText(of value: JSONValue) -> [UInt8] {
    switch value.kind {
    case .null, .true, .false, .number: value.text
    case .string: quoted(value)
    case .array: Array("[".utf8) + value.elements.map(canonicalText).joined(separator: ",".utf8) + Array("]".utf8)
    case .object:
      Array("{".utf8)
        + value.members.map { quoted($0.key) + Array(":".utf8) + canonicalText(of: $0.value) }
        .joined(separator: ",".utf8) + Array("}".utf8)
    }
  }

  private mutating func open(_ bracket: String) {
    text += Array(bracket.utf8)
    count += 1
  }

  private mutating func close(_ bracket: String) { text += Array(bracket.utf8) }

  private mutating func separate() {
    if text.last != UInt8(ascii: "{"), text.last != UInt8(ascii: "[") { text.append(UInt8(ascii: ",")) }
  }

  private static func read(_ kind: Schema.Key, _ key: JSONValue) -> Reading? {
    kind.canonical(key.stringBytes).map { Reading(identity: Identity($0), text: quoted($0)) }
  }

  private static func sum(_ values: MergeableValues) -> MergedValue? {
    func integer(_ value: MergeableValues.Value) -> Int128? {
      Int128(String(decoding: JSONValue(value.document, value.node).text, as: UTF8.self))
    }
    guard let mine = integer(values.mine), let theirs = integer(values.theirs) else { return nil }
    let sum = mine + theirs - (values.base.flatMap(integer) ?? 0)
    return MergedValue(theirs: Array("\(theirs)".utf8), merged: Array("\(sum)".utf8))
  }

  /// A string in its canonical spelling, or unchanged if it is not valid UTF-8.
  private static func quoted(_ string: JSONValue) -> [UInt8] {
    String(validating: string.stringBytes, as: UTF8.self) == nil ? string.text : quoted(string.stringBytes)
  }

  static func quoted(_ bytes: [UInt8]) -> [UInt8] {
    var result: [UInt8] = [UInt8(ascii: "\"")]
    for byte in bytes {
      if byte == UInt8(ascii: "\n") {
        result += Array("\\n".utf8)
      } else if byte < 0x20 {
        let digits = String(byte, radix: 16)
        result += Array("\\u\(digits.count == 1 ? "000" : "00")\(digits)".utf8)
      } else {
        if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { result.append(UInt8(ascii: "\\")) }
        result.append(byte)
      }
    }
    return result + [UInt8(ascii: "\"")]
  }
}
