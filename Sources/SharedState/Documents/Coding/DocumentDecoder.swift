package import Foundation

/// Reads values from JSON documents, as a `JSONDecoder` does with the same settings, with these differences:
///
/// - A document that is not JSON (RFC 8259) in UTF-8 is an error, whichever part of it is read, and the error names the
///   byte.
/// - Integers are read exactly, however they are written.
/// - Coding paths lead to the faulty value, in errors of all kinds.
/// - Dictionaries are read from objects and from arrays of keys and values.
/// - Members that a document lacks can be taken from another one.
package struct DocumentDecoder: Sendable {
  /// A value, with the members that the document lacked.
  package struct Completed<Value> {
    /// The value.
    package let value: Value
    /// The paths of the members that were taken from elsewhere, each from the outermost name to the innermost.
    package let paths: [[String]]
    /// Whether the document is an object of another shape: it has members, and none of those that the type has asked for.
    package let isOfOtherShape: Bool
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
  /// - Throws: `DecodingError` as `JSONDecoder` does, or the value's own error.
  package func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
    try decode(type, from: try document(data))
  }

  /// Reads a value.
  /// - Throws: `DecodingError` as `JSONDecoder` does, or the value's own error.
  package func decode<Value: Decodable>(_ type: Value.Type, from document: JSONDocument) throws -> Value {
    try DocumentReader(document, options).read(type, at: ReadingPlace(0))
  }

  /// Reads a value. A required member that the document lacks is taken from the document of a default value, if that
  /// has it at the same place.
  ///
  /// A missing optional is `nil`. Elements of arrays and sets, and entries of dictionaries are never completed.
  ///
  /// - Parameters:
  ///   - default: The default, written by an encoder with the same settings.
  ///   - leftOut: The elements that are left out where their list or set has identities.
  /// - Throws: `DecodingError` as `JSONDecoder` does, or the value's own error.
  package func decode<Value: Decodable>(
    _ type: Value.Type,
    from document: JSONDocument,
    completedBy default: JSONDocument?,
    leavingOut leftOut: Set<Int> = []
  ) throws -> Completed<Value> {
    let fallback = `default`.map { DocumentReader($0, options) }
    let reader = DocumentReader(document, options, fallback: fallback, leavingOut: leftOut)
    let value = try reader.read(type, at: ReadingPlace(0, fallback: fallback.map { _ in 0 }))
    return Completed(value: value, paths: reader.completed, isOfOtherShape: reader.isOfOtherShape)
  }

  /// A document whose unreadable members are replaced by those of other documents.
  func mended(_ document: JSONDocument, by substitutes: [JSONDocument]) -> MendedDocument {
    MendedDocument(document, by: substitutes, options)
  }

  /// The names of the members of an object, as a type sees them; none if there is no object.
  func memberNames(of document: JSONDocument, at path: [String]) -> Set<String> {
    let reader = DocumentReader(document, options)
    var object = 0
    for name in path {
      guard reader.kind(object) == .object,
        let member = reader.members(of: object).first(where: { $0.name == name })
      else { return [] }
      object = member.value
    }
    guard reader.kind(object) == .object else { return [] }
    return Set(reader.members(of: object).filter { reader.kind($0.value) != .null }.map(\.name))
  }

  /// Parses a document.
  /// - Throws: `DecodingError` that names the byte at which it is not JSON.
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

  /// Makes a reader of a part of a document, in a time that does not depend on the size of the document. Only a custom
  /// strategy for keys may depend on the surroundings of a name.
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
  /// Whether a type reads a number in quotes as it reads the number, or cannot read it at all.
  func isSame<Value: Decodable & Hashable>(_ type: Value.Type, inQuotes number: [UInt8]) -> Bool {
    let text = [UInt8(ascii: "[")] + number + Array(",\"".utf8) + number + Array("\"]".utf8)
    guard let document = try? JSONDocument(parsing: Data(text)) else { return true }
    let reader = DocumentReader(document, options)
    guard let quoted = reader.probe({ try $0.read(type, at: ReadingPlace(2)) }) else { return true }
    return reader.probe { try $0.read(type, at: ReadingPlace(1)) } == quoted
  }
}

extension JSONDocument {
  /// The document `null`.
  static let null: JSONDocument = {
    guard let document = try? JSONDocument(parsing: Data("null".utf8)) else {
      preconditionFailure("The parser must read null.")
    }
    return document
  }()
}

/// The settings of a `JSONDecoder`.
struct DecodingOptions: Sendable {
  let dates: JSONDecoder.DateDecodingStrategy
  let data: JSONDecoder.DataDecodingStrategy
  let keys: JSONDecoder.KeyDecodingStrategy
  let floats: JSONDecoder.NonConformingFloatDecodingStrategy
  let userInfo: [CodingUserInfoKey: any Sendable]
  /// Whether members are looked up by the names that the type defines.
  let usesPlainKeys: Bool
  /// Whether the conversion of a name may depend on the path to it.
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
