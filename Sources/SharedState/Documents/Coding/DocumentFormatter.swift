import Foundation

/// Writes a document again: without repetitions, sorted or on many lines, by the settings of an encoder.
struct DocumentFormatter {
  private let document: JSONDocument
  private let isPretty: Bool
  private let sortsKeys: Bool
  /// The offsets of containers that continue an earlier one of the same name.
  private let merges: Set<Int>
  private let text: TextBuffer
  /// The offsets of values in the new text, by those in the old one.
  private var offsets: [Int: Int] = [:]

  private init(_ writer: DocumentWriter, isPretty: Bool, sortsKeys: Bool) throws {
    document = try JSONDocument(parsing: writer.text.withBytes { Data($0) })
    merges = Set(writer.merges)
    text = TextBuffer(capacity: 2 * writer.text.count)
    self.isPretty = isPretty
    self.sortsKeys = sortsKeys
  }

  /// The text of a finished writer, with no name twice in an object.
  static func text(of writer: DocumentWriter) throws -> [UInt8] {
    var formatter = try Self(writer, isPretty: false, sortsKeys: false)
    formatter.write(0, depth: 0)
    return formatter.text.withBytes { Array($0) }
  }

  /// Replaces the text of a finished writer by the one that its options ask for.
  static func format(_ writer: DocumentWriter) throws {
    let options = writer.options
    guard options.isPretty || options.sortsKeys || writer.hasRepetitions else { return }
    var formatter = try Self(writer, isPretty: options.isPretty, sortsKeys: options.sortsKeys)
    formatter.write(0, depth: 0)
    writer.forms = writer.forms?.moved { formatter.offsets[$0] }
    writer.text.swap(with: formatter.text)
  }

  /// Writes a value. The parser has made sure that this goes no deeper than ``JSONDocument/maximumDepth``.
  private mutating func write(_ value: Int, depth: Int) {
    offsets[Int(document.nodes[value].lower)] = text.count
    switch document.nodes[value].kind {
    case .array:
      var items: [Int] = []
      var element = value + 1
      while element < document.nodes[value].next {
        items.append(element)
        element = Int(document.nodes[element].next)
      }
      write(items, "[", "]", depth) { formatter, item in formatter.write(item, depth: depth + 1) }
    case .object: write(members(of: value), depth)
    default: copy(value)
    }
  }

  private struct Member {
    let key: Int
    /// The values that its members come from; several if the container was continued.
    var values: [Int]
  }

  private mutating func write(_ members: [Member], _ depth: Int) {
    write(members, "{", "}", depth) { formatter, member in
      formatter.copy(member.key)
      formatter.text.append(formatter.isPretty ? " : " : ":")
      if member.values.count == 1 {
        formatter.write(member.values[0], depth: depth + 1)
      } else {
        formatter.write(formatter.joined(member.values), depth + 1)
      }
    }
  }

  private mutating func write<Item>(
    _ items: [Item],
    _ opening: StaticString,
    _ closing: StaticString,
    _ depth: Int,
    _ write: (inout Self, Item) -> Void
  ) {
    text.append(opening)
    for (index, item) in items.enumerated() {
      if index > 0 { text.append(",") }
      newLine(depth + 1)
      write(&self, item)
    }
    if items.isEmpty, isPretty { text.append("\n") }
    newLine(depth)
    text.append(closing)
  }

  private func newLine(_ depth: Int) {
    guard isPretty else { return }
    text.append("\n")
    for _ in 0..<depth { text.append("  ") }
  }

  private func copy(_ node: Int) {
    document.bytes[document.nodes[node].range].withUnsafeBufferPointer { text.append($0) }
  }

  /// The members of an object. Of several with the same name the last one counts, at the place of the first.
  private func members(of object: Int) -> [Member] {
    joined([object])
  }

  private func joined(_ objects: [Int]) -> [Member] {
    var members: [Member] = []
    var places: [[UInt8]: Int] = [:]
    for object in objects {
      for (key, value) in document.members(of: object) {
        let name = Array(document.text(of: key))
        guard let place = places[name] else {
          places[name] = members.count
          members.append(Member(key: key, values: [value]))
          continue
        }
        let isJoined =
          merges.contains(Int(document.nodes[value].lower)) && document.nodes[value].kind == .object
          && document.nodes[members[place].values[0]].kind == .object
        members[place].values = isJoined ? members[place].values + [value] : [value]
      }
    }
    guard sortsKeys else { return members }
    return members.map { (name: JSONStringBytes(document.contents(of: $0.key)), member: $0) }
      .sorted { Array($0.name).lexicographicallyPrecedes(Array($1.name)) }
      .map(\.member)
  }
}
