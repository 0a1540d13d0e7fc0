package import Foundation
import Synchronization

/// Writes and reads the documents of one shared value.
///
/// It uses ``DocumentEncoder`` and ``DocumentDecoder`` when the `JSONEncoder` and the `JSONDecoder` hold nothing but
/// settings. Subclasses are used as they are; then the types are unknown, and nothing is completed.
package struct ValueCoder<Value: Codable & Sendable>: Sendable {
  private enum Coders {
    case own(DocumentEncoder, DocumentDecoder)
    case foundation(JSONEncoder, JSONDecoder)
  }

  private let coders: Coders
  private let completion: DefaultDocument?

  /// - Parameters:
  ///   - encoder: Its settings are read here; a subclass is called on any thread.
  ///   - decoder: Likewise.
  ///   - usesArraysForDictionaries: See ``DocumentEncoder/init(_:usesArraysForDictionaries:readBy:)``.
  ///   - defaultValue: Supplies required members that a document lacks; `nil`: they are missing.
  package init(
    _ encoder: JSONEncoder,
    _ decoder: JSONDecoder,
    usesArraysForDictionaries: Bool = false,
    completedBy defaultValue: Value? = nil
  ) {
    let reader = DocumentDecoder(decoder)
    let writer = reader.flatMap {
      DocumentEncoder(encoder, usesArraysForDictionaries: usesArraysForDictionaries, readBy: $0)
    }
    if let encoder = writer, let decoder = reader {
      coders = .own(encoder, decoder)
      completion = defaultValue.map { value in DefaultDocument { try? JSONDocument(parsing: encoder.encode(value)) } }
    } else {
      coders = .foundation(encoder, decoder)
      completion = nil
    }
  }

  /// Writes a value.
  /// - Throws: `EncodingError`, or the value's own error.
  package func encode(_ value: Value) throws -> Data {
    switch coders {
    case .own(let encoder, _): try encoder.encode(value)
    case .foundation(let encoder, _): try encoder.encode(value)
    }
  }

  /// Reads a value.
  /// - Throws: `DecodingError`, or the value's own error.
  package func decode(_ document: Data) throws -> DocumentDecoder.Completed<Value> {
    switch coders {
    case .own(_, let decoder):
      try decoder.decode(Value.self, from: decoder.document(document), completedBy: completion?.document)
    case .foundation(_, let decoder):
      DocumentDecoder.Completed(
        value: try decoder.decode(Value.self, from: document),
        paths: [],
        isOfOtherShape: false
      )
    }
  }

  /// A value of a document of which some members, entries or elements may be unreadable.
  package struct Mended {
    package let completed: DocumentDecoder.Completed<Value>
    /// The places that cannot be read, in the order in which they were found.
    package let failures: [DecodingFailure]

    /// Takes a value and the places that cannot be read.
    package init(completed: DocumentDecoder.Completed<Value>, failures: [DecodingFailure] = []) {
      (self.completed, self.failures) = (completed, failures)
    }
  }

  /// Reads a value of a document of which some members, entries or elements may be unreadable: see ``MendedDocument``.
  /// - Parameter last: The document that supplies them; where it cannot, and if it is `nil`, the default does.
  /// - Throws: The first error of reading the document if it cannot be mended, or the value's own error.
  package func decode(_ document: Data, mendedBy last: Data?) throws -> Mended {
    guard case .own(_, let decoder) = coders else { return Mended(completed: try decode(document)) }
    do {
      return Mended(completed: try decode(document))
    } catch let error as DecodingError {
      let substitutes = [last.flatMap { try? JSONDocument(parsing: $0) }, completion?.document].compactMap { $0 }
      var mended = decoder.mended(try decoder.document(document), by: substitutes)
      guard mended.mend(error), let value = try decode(&mended, decoder) else { throw error }
      return value
    }
  }

  /// Reads a document, and mends it until it can be read; `nil` if it cannot be mended.
  private func decode(_ mended: inout MendedDocument, _ decoder: DocumentDecoder) throws -> Mended? {
    while true {
      do {
        let completed = try decoder.decode(
          Value.self,
          from: mended.document,
          completedBy: completion?.document,
          leavingOut: mended.leftOut
        )
        return Mended(completed: completed, failures: mended.failures)
      } catch let error as DecodingError {
        guard mended.mend(error) else { return nil }
      }
    }
  }

  /// The names of stored members that a value does not have, beside members that the document lacks.
  /// - Parameter paths: The paths of the missing members.
  package func unknownMembers(of document: Data, beside paths: [[String]], in value: Value) -> [String] {
    guard case .own(_, let decoder) = coders, let stored = try? JSONDocument(parsing: document),
      let own = try? JSONDocument(parsing: encode(value))
    else { return [] }
    let objects = Set(paths.map { Array($0.dropLast()) }).sorted { $0.lexicographicallyPrecedes($1) }
    return objects.flatMap { path in
      let names = decoder.memberNames(of: stored, at: path).subtracting(decoder.memberNames(of: own, at: path))
      return names.sorted().map { (path + [$0]).joined(separator: ".") }
    }
  }

  /// Writes a value, with the forms of the values in it; `nil` when the types are unknown, or the value cannot be
  /// encoded.
  package func formed(_ value: Value) -> FormedDocument? {
    guard case .own(let encoder, let decoder) = coders else { return nil }
    return try? encoder.encode(value, formsReadBy: decoder).formed()
  }
}

/// The document of a default value, made when it is first needed.
private final class DefaultDocument: Sendable {
  private let make: @Sendable () -> JSONDocument?
  private let made = Mutex<JSONDocument??>(nil)

  init(_ make: @escaping @Sendable () -> JSONDocument?) {
    self.make = make
  }

  /// The document; `nil` when the default cannot be encoded.
  var document: JSONDocument? {
    if let document = made.withLock({ $0 }) { return document }
    let document = make()
    made.withLock { $0 = .some(document) }
    return document
  }
}
