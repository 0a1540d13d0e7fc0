import Foundation
import Testing

@testable import SharedState

/// Coders with the usual settings, and what tests need of them.
struct Coders {
  let encoder: DocumentEncoder
  let decoder: DocumentDecoder

  init(usesArraysForDictionaries: Bool = false, _ set: (JSONEncoder, JSONDecoder) -> Void = { _, _ in }) throws {
    let (encoder, decoder) = (JSONEncoder(), JSONDecoder())
    encoder.outputFormatting = .withoutEscapingSlashes
    set(encoder, decoder)
    let reader = try #require(DocumentDecoder(decoder))
    self.encoder = try #require(
      DocumentEncoder(encoder, usesArraysForDictionaries: usesArraysForDictionaries, readBy: reader)
    )
    self.decoder = reader
  }

  func text(_ value: some Encodable) throws -> String {
    String(decoding: try encoder.encode(value), as: UTF8.self)
  }

  func value<Value: Decodable>(_ type: Value.Type, _ text: String) throws -> Value {
    try decoder.decode(type, from: Data(text.utf8))
  }

  /// The forms of a value, by the texts of their values.
  func forms(_ value: some Encodable) throws -> [String: Form] {
    let formed = try encoder.encode(value, formsReadBy: decoder).formed()
    let forms = try #require(formed.forms)
    return Dictionary(
      uniqueKeysWithValues: forms.map {
        (String(decoding: formed.document.text(of: $0.key), as: UTF8.self), $0.value)
      }
    )
  }
}

func document(_ text: String) throws -> JSONDocument { try JSONDocument(parsing: Data(text.utf8)) }
