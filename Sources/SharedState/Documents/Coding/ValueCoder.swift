package import Foundation
import Synchronization

/// Writes and reads the documents of one shared value.
///
/// It does so with ``DocumentEncoder`` and ``DocumentDecoder`` where a `JSONEncoder` and a `JSONDecoder` hold nothing but
/// settings. Subclasses are used as they are; then nothing is known of the types, and nothing is completed.
package struct ValueCoder<Value: Codable & Sendable>: Sendable {
  private enum Coders {
    case own(DocumentEncoder, DocumentDecoder)
    case foundation(JSONEncoder, JSONDecoder)
  }

  private let coders: Coders
  private let completion: DefaultDocument?

  /// - Parameters:
  ///   - encoder: Its settings are looked at here; a subclass is called on any thread.
  ///   - decoder: Likewise.
  ///   - usesArraysForDictionaries: See ``DocumentEncoder/init(_:usesArraysForDictionaries:readBy:)``.
  ///   - defaultValue: Members that a document lacks and the type requires are taken from it; `nil`: they are missing.
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
  /// - Throws: `EncodingError`, or what the value throws.
  package func encode(_ value: Value) throws -> Data {
    switch coders {
    case .own(let encoder, _): try encoder.encode(value)
    case .foundation(let encoder, _): try encoder.encode(value)
    }
  }

  /// Reads a value.
  /// - Throws: `DecodingError`, or what the value throws.
  package func decode(_ document: Data) throws -> DocumentDecoder.Completed<Value> {
    switch coders {
    case .own(_, let decoder):
      try decoder.decode(Value.self, from: decoder.document(document), completedBy: completion?.document)
    case .foundation(_, let decoder):
      DocumentDecoder.Completed(value: try decoder.decode(Value.self, from: document), paths: [])
    }
  }

  /// Writes a value, and says what its types know of what is in it; `nil` when nothing is known.
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

  /// `nil` when the default cannot be encoded.
  var document: JSONDocument? {
    if let document = made.withLock({ $0 }) { return document }
    let document = make()
    made.withLock { $0 = .some(document) }
    return document
  }
}
