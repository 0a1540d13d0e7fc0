import Foundation

/// Reads the keys of dictionaries of one type from the names of members.
struct DictionaryKeys<Key: Decodable & Hashable>: Sendable {
  let kind = DictionaryKeyKind(Key.self)

  /// Makes a key from a name, which its type may not accept.
  /// - Parameter node: The key in the document.
  func key(named name: String, at node: Int, from reader: DocumentReader) throws -> Key {
    let key: Key?
    switch kind {
    case .string: key = name as? Key
    case .integer:
      guard let integer = Int(name) else { throw mismatch("Int", name, at: node, reader) }
      key = integer as? Key
    case .representable(let type):
      key = type.init(codingKey: PathKey(stringValue: name)) as? Key
      if key == nil { throw reader.corrupted("A name is no key of the type \(Key.self).", at: node) }
    case .encoded: return try encodedKey(named: name, at: node, from: reader)
    }
    guard let key else { throw reader.corrupted("A name is no key of the type \(Key.self).", at: node) }
    return key
  }

  private func mismatch(_ type: String, _ name: String, at node: Int, _ reader: DocumentReader) -> DecodingError {
    let description = "Expected \(type) key but found String key instead."
    return .typeMismatch(Int.self, .init(codingPath: reader.codingPath(to: node), debugDescription: description))
  }

  /// Reads the key from its encoding: a string, or a number in quotes.
  private func encodedKey(named name: String, at node: Int, from reader: DocumentReader) throws -> Key {
    let place = ReadingPlace(node)
    let number = reader.document.contents(of: node)
    guard let first = number.first, first == UInt8(ascii: "-") || first &- UInt8(ascii: "0") < 10,
      let document = try? JSONDocument(parsing: Data(number))
    else { return try reader.read(Key.self, at: place) }
    if let key = reader.probe({ try $0.read(Key.self, at: place) }) { return key }
    if let key = try? DocumentReader(document, reader.options).read(Key.self, at: ReadingPlace(0)) { return key }
    return try reader.read(Key.self, at: place)
  }

  /// Whether dictionaries with such keys may be arrays of keys and values.
  var mayBeInArray: Bool { if case .encoded = kind { true } else { false } }
}

extension DocumentReader {
  /// The name of a member of a dictionary, converted by the strategy for keys unless the key is a string or encoded.
  func dictionaryName(at key: Int, _ kind: DictionaryKeyKind) throws -> String {
    let name = try string(at: key)
    switch kind {
    case .string, .encoded: return name
    case .integer, .representable:
      let path = options.looksAtPaths ? Array(codingPath(to: key).dropLast()) : []
      return options.usesPlainKeys ? name : convert(name, path)
    }
  }
}
