import Foundation
import Testing

@testable import SharedState

/// Our coders and those of Foundation with the same settings: both must do the same.
///
/// Paths of errors are compared only as far as Foundation knows them: the last key of an encoder, because its nested
/// containers forget what is around them, and nothing when the text of a value is wrong.
struct Comparison {
  private let foundation: (encoder: JSONEncoder, decoder: JSONDecoder)
  private let ours: (encoder: DocumentEncoder, decoder: DocumentDecoder)

  /// Objects have sorted keys, because JSONEncoder does not keep the order of the type.
  init(_ set: (JSONEncoder, JSONDecoder) -> Void = { _, _ in }) throws {
    let (encoder, decoder) = (JSONEncoder(), JSONDecoder())
    encoder.outputFormatting = .sortedKeys
    set(encoder, decoder)
    foundation = (encoder, decoder)
    let reader = try #require(DocumentDecoder(decoder))
    ours = (try #require(DocumentEncoder(encoder, readBy: reader)), reader)
  }

  /// Writes a value, with and without sorted keys, and reads it again.
  func write<Value: Encodable>(_ value: Value, _ place: SourceLocation = #_sourceLocation) throws {
    let texts = [
      Self.outcome { String(decoding: try foundation.encoder.encode(value), as: UTF8.self) },
      Self.outcome { String(decoding: try ours.encoder.encode(value), as: UTF8.self) },
    ]
    #expect(texts[0] == texts[1], sourceLocation: place)
    let formatting = foundation.encoder.outputFormatting
    defer { foundation.encoder.outputFormatting = formatting }
    foundation.encoder.outputFormatting.remove(.sortedKeys)
    let unsorted = try #require(DocumentEncoder(foundation.encoder), sourceLocation: place)
    guard let text = try? foundation.encoder.encode(value) else { return }
    let isSame = try JSONDocument(parsing: text).hasSameValue(as: JSONDocument(parsing: unsorted.encode(value)))
    #expect(isSame, "\(texts[0])", sourceLocation: place)
  }

  /// Reads a text.
  func read<Value: Decodable>(_ type: Value.Type, _ text: String, _ place: SourceLocation = #_sourceLocation) {
    read(type, Data(text.utf8), place)
  }

  /// Reads bytes.
  func read<Value: Decodable>(_ type: Value.Type, _ data: Data, _ place: SourceLocation = #_sourceLocation) {
    let expected = Self.outcome { Self.text(of: try foundation.decoder.decode(type, from: data)) }
    let found = Self.outcome { Self.text(of: try ours.decoder.decode(type, from: data)) }
    let isSame = expected == found || expected == Self.corrupted && found.hasPrefix(Self.corrupted)
    #expect(
      isSame,
      "\(type) from \(String(decoding: data, as: UTF8.self)): \(expected), \(found)",
      sourceLocation: place
    )
  }

  /// Makes sure that both decoders refuse a text, and that ours gives the reason.
  func refuse<Value: Decodable>(_ type: Value.Type, _ text: String, _ place: SourceLocation = #_sourceLocation) {
    let data = Data(text.utf8)
    #expect(throws: DecodingError.self, sourceLocation: place) { try foundation.decoder.decode(type, from: data) }
    let found = Self.outcome { Self.text(of: try ours.decoder.decode(type, from: data)) }
    #expect(found == Self.corrupted, "\(text)", sourceLocation: place)
  }

  private static let corrupted = "corrupted at "

  private static func text(of value: some Any) -> String {
    // The description of a distant date traps.
    if let date = value as? Date { return "\(date.timeIntervalSince1970)" }
    var text = ""
    dump(value, to: &text)
    return text.split(separator: "\n").filter { !$0.contains("pointer") }.joined(separator: "\n")
  }

  private static func outcome(_ body: () throws -> String) -> String {
    do { return try body() } catch { return describe(error) }
  }

  private static func describe(_ error: any Error) -> String {
    func path(_ path: some Sequence<any CodingKey>) -> String { path.map(\.stringValue).joined(separator: "/") }
    switch error {
    case DecodingError.typeMismatch(let type, let context): return "\(type) at \(path(context.codingPath)) is mistyped"
    case DecodingError.valueNotFound(let type, let context): return "\(type) at \(path(context.codingPath)) is null"
    case DecodingError.keyNotFound(let key, let context):
      return "\(key.stringValue) at \(path(context.codingPath)) is missing"
    case DecodingError.dataCorrupted(let context): return "\(corrupted)\(path(context.codingPath))"
    case EncodingError.invalidValue(let value, let context):
      return "\(type(of: value)) at \(path(context.codingPath.suffix(1))) is invalid"
    default: return "\(type(of: error))"
    }
  }
}
