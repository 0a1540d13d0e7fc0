package import Foundation

/// Reads values from JSON documents, as a `JSONDecoder` does with the same settings, with these differences:
///
/// - What is not JSON (RFC 8259) in UTF-8 is an error, whatever is read of it, and the error tells the byte.
/// - Integers are read exactly, however they are written.
/// - Coding paths lead to what is wrong, in errors of all kinds.
/// - Dictionaries are read from objects and from arrays of keys and values.
/// - What a document lacks can be taken from another one.
package struct DocumentDecoder: Sendable {
  /// A value, and what of it was not in the document.
  package struct Completed<Value> {
    /// The value.
    package let value: Value
    /// The paths of the members that were taken from elsewhere, each from the outermost name to the innermost.
    package let paths: [[String]]
  }

  private let options: DecodingOptions

  /// Takes the settings of a decoder; `nil` for a subclass, and for one that reads anything but JSON.
  package init?(_ decoder: JSONDecoder) {
    guard type(of: decoder) == JSONDecoder.self, !decoder.allowsJSON5, !decoder.assumesTopLevelDictionary else {
      return nil
    }
    options = DecodingOptions(decoder)
  }

  /// Reads a value.
  /// - Throws: `DecodingError` as `JSONDecoder` does, or what the value throws.
  package func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
    try decode(type, from: try document(data))
  }

  /// Reads a value.
  /// - Throws: `DecodingError` as `JSONDecoder` does, or what the value throws.
  package func decode<Value: Decodable>(_ type: Value.Type, from document: JSONDocument) throws -> Value {
    try DocumentReader(document, options).read(type, at: ReadingPlace(0))
  }

  /// Reads a value. A member that the document lacks and the type requires is taken from a default value's document,
  /// where that has it at the same place.
  ///
  /// A missing optional is `nil`. Nothing is taken for elements of arrays and sets and for entries of dictionaries.
  ///
  /// - Parameter default: What an encoder with the same settings has written.
  /// - Throws: `DecodingError` as `JSONDecoder` does, or what the value throws.
  package func decode<Value: Decodable>(
    _ type: Value.Type,
    from document: JSONDocument,
    completedBy default: JSONDocument?
  ) throws -> Completed<Value> {
    let fallback = `default`.map { DocumentReader($0, options) }
    let reader = DocumentReader(document, options, fallback: fallback)
    let value = try reader.read(type, at: ReadingPlace(0, fallback: fallback.map { _ in 0 }))
    return Completed(value: value, paths: reader.completed)
  }

  /// Parses a document.
  /// - Throws: `DecodingError` that tells the byte at which it is not JSON.
  package func document(_ data: Data) throws -> JSONDocument {
    do {
      return try JSONDocument(parsing: data)
    } catch {
      let context = DecodingError.Context(
        codingPath: [],
        debugDescription: DecodingFailure(error).description,
        underlyingError: error
      )
      throw DecodingError.dataCorrupted(context)
    }
  }

  /// Reads the value of a node. Coding paths begin there.
  func decode(_ type: any Decodable.Type, at node: Int, of document: JSONDocument) throws -> any Decodable {
    try decode(opened: type, at: node, of: document)
  }

  private func decode<Value: Decodable>(opened type: Value.Type, at node: Int, of document: JSONDocument) throws
    -> Value
  {
    try reader(of: node, in: document).read(type, at: ReadingPlace(node))
  }

  /// Makes a reader of a part of a document, which takes no longer where the document is large. Only what a strategy of
  /// somebody's own makes of a name may depend on what is around it.
  private func reader(of node: Int, in document: JSONDocument) -> DocumentReader {
    DocumentReader(document, options, root: options.looksAtPaths ? 0 : node)
  }

  /// Reads the key of a dictionary.
  func key<Key>(_ keys: DictionaryKeys<Key>, at node: Int, of document: JSONDocument) throws -> Key {
    let reader = reader(of: node, in: document)
    return try keys.key(named: try reader.dictionaryName(at: node, keys.kind), at: node, from: reader)
  }
}

extension DocumentDecoder {
  /// Whether a type makes of a number in quotes what it makes of the number, or nothing at all.
  func isSame<Value: Decodable & Hashable>(_ type: Value.Type, inQuotes number: [UInt8]) -> Bool {
    let text = [UInt8(ascii: "[")] + number + Array(",\"".utf8) + number + Array("\"]".utf8)
    guard let document = try? JSONDocument(parsing: Data(text)) else { return true }
    let reader = DocumentReader(document, options)
    guard let quoted = reader.probe({ try $0.read(type, at: ReadingPlace(2)) }) else { return true }
    return reader.probe { try $0.read(type, at: ReadingPlace(1)) } == quoted
  }
}

extension JSONDocument {
  /// The document of nothing.
  static let null: JSONDocument = {
    guard let document = try? JSONDocument(parsing: Data("null".utf8)) else {
      preconditionFailure("The parser must read null.")
    }
    return document
  }()
}

/// How values are read: the settings of a `JSONDecoder`.
struct DecodingOptions: Sendable {
  let dates: JSONDecoder.DateDecodingStrategy
  let data: JSONDecoder.DataDecodingStrategy
  let keys: JSONDecoder.KeyDecodingStrategy
  let floats: JSONDecoder.NonConformingFloatDecodingStrategy
  let userInfo: [CodingUserInfoKey: any Sendable]
  /// Whether names of members are looked for as the type gives them.
  let usesPlainKeys: Bool
  /// Whether what becomes of a name may depend on the path to it.
  let looksAtPaths: Bool

  init(_ decoder: JSONDecoder) {
    dates = decoder.dateDecodingStrategy
    data = decoder.dataDecodingStrategy
    keys = decoder.keyDecodingStrategy
    floats = decoder.nonConformingFloatDecodingStrategy
    userInfo = decoder.userInfo
    usesPlainKeys = if case .useDefaultKeys = keys { true } else { false }
    looksAtPaths = if case .custom = keys { true } else { false }
  }
}
