/// The kind of key that a dictionary has.
enum DictionaryKeyKind: Sendable {
  /// A string is a name as it is, independent of the strategy for keys.
  case string
  case integer
  /// The type itself defines the names of its keys.
  case representable(any (CodingKeyRepresentable & SendableMetatype).Type)
  /// The name is the encoded key.
  case encoded

  init(_ type: Any.Type) {
    switch type {
    case is String.Type: self = .string
    case is Int.Type: self = .integer
    case let type as any (CodingKeyRepresentable & SendableMetatype).Type: self = .representable(type)
    default: self = .encoded
    }
  }
}

extension Dictionary: CollectionEncodable where Key: Encodable, Value: Encodable {
  static var collectionEncoding: TypeEncoding {
    if case .encoded = DictionaryKeyKind(Key.self) { return EncodedDictionaryEncoding<Key, Value>() }
    return NamedDictionaryEncoding<Key, Value>()
  }
}

/// Writes dictionaries whose keys have names, in canonical order.
private final class NamedDictionaryEncoding<Key: Encodable & Hashable, Value: Encodable>: ValueEncoding<[Key: Value]>,
  @unchecked Sendable
{
  private let encoding = TypeEncoding.of(Value.self)
  /// Whether names are converted by the strategy for keys.
  private let isConverted = Key.self != String.self

  override func write(_ dictionary: [Key: Value], key: (any CodingKey)?, to writer: DocumentWriter) throws {
    writer.forms?.appendMap(of: Key.self, at: writer.text.count)
    let (depth, id) = try writer.push(key)
    try writer.open(.object)
    for (key, value) in Self.sorted(dictionary) {
      if isConverted {
        try writer.beginMember(key, depth, id)
      } else {
        writer.separate(depth)
        key.stringValue.write(key: nil, to: writer)
        writer.text.append(UInt8(ascii: ":"))
      }
      try encoding.write(value, key: key, to: writer)
    }
    try writer.pop()
  }

  private static func sorted(_ dictionary: [Key: Value]) -> [(key: any CodingKey, value: Value)] {
    if let integers = dictionary as? [Int: Value] {
      return integers.sorted { $0.key < $1.key }.map { (PathKey(intValue: $0.key), $0.value) }
    }
    if let strings = dictionary as? [String: Value] {
      return strings.sorted { $0.key.precedesByScalars($1.key) }.map { (PathKey(entry: $0.key), $0.value) }
    }
    let entries = dictionary.compactMap { entry in
      (entry.key as? any CodingKeyRepresentable).map { (key: $0.codingKey, value: entry.value) }
    }
    return entries.sorted { $0.key.stringValue.precedesByScalars($1.key.stringValue) }
  }
}

extension String {
  /// Whether it comes before another one in canonical order.
  func precedesByScalars(_ other: String) -> Bool {
    utf8.lexicographicallyPrecedes(other.utf8)
  }
}

/// Writes dictionaries whose keys have to be encoded first: as an object if each is one string or one number, otherwise
/// as an array of keys and values; in canonical order.
///
/// A dictionary may have keys of several kinds, or optional ones, of which one may be `nil`. It becomes an array when
/// it gets its first key that is no name, and an object again when it loses the last one. Both are read. For a merge it
/// is then a value of another kind, so that one side's change replaces it as a whole.
private final class EncodedDictionaryEncoding<Key: Encodable & Hashable, Value: Encodable>: ValueEncoding<[Key: Value]>,
  @unchecked Sendable
{
  private struct Entry {
    let key: CanonicalOrder
    let value: Value

    /// The key in quotes; `nil` when that is not possible.
    var name: [UInt8]? {
      switch key.rank {
      case .string: key.json
      case .number: [UInt8(ascii: "\"")] + key.json + [UInt8(ascii: "\"")]
      case .other: nil
      }
    }
  }

  private let keyEncoding = TypeEncoding.of(Key.self)
  private let valueEncoding = TypeEncoding.of(Value.self)

  override func write(_ dictionary: [Key: Value], key: (any CodingKey)?, to writer: DocumentWriter) throws {
    let start = writer.text.count
    let (depth, _) = try writer.push(key)
    let part = DocumentWriter(writer.options, in: (writer, writer.levels.count))
    let entries =
      try dictionary
      .map { Entry(key: CanonicalOrder(try part.text(of: $0.key, keyEncoding)), value: $0.value) }
      .sorted { $0.key < $1.key }
    if !writer.options.usesArraysForDictionaries, let names = names(of: entries, writer.options.decoder) {
      writer.forms?.appendMap(of: Key.self, at: start)
      try writer.open(.object)
      for (entry, name) in zip(entries, names) {
        writer.separate(depth)
        append(name, to: writer)
        writer.text.append(UInt8(ascii: ":"))
        let key = PathKey(entry: String(decoding: name.dropFirst().dropLast(), as: UTF8.self))
        try valueEncoding.write(entry.value, key: key, to: writer)
      }
    } else {
      try writer.open(.array)
      for entry in entries {
        writer.separate(depth)
        append(entry.key.json, to: writer)
        writer.separate(depth)
        try valueEncoding.write(entry.value, key: nil, to: writer)
      }
    }
    try writer.pop()
  }

  /// The names of all entries; `nil` when an entry has none, when two have the same, or when a name would be read as
  /// another key.
  private func names(of entries: [Entry], _ decoder: DocumentDecoder?) -> [[UInt8]]? {
    let names = entries.compactMap(\.name)
    guard names.count == entries.count, Set(names).count == names.count else { return nil }
    // The name of a number is the number in quotes, which a type may take for a string.
    guard let decoder, !(Key.self is any DirectlyEncodable.Type),
      let type = Key.self as? any (Decodable & Hashable).Type
    else {
      return names
    }
    let numbers = entries.lazy.map(\.key).filter { $0.rank == .number }
    return numbers.allSatisfy { decoder.isSame(type, inQuotes: $0.json) } ? names : nil
  }

  private func append(_ json: [UInt8], to writer: DocumentWriter) {
    json.withUnsafeBufferPointer { writer.text.append($0) }
  }
}
