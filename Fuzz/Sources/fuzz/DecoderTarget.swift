import Foundation

@testable import SharedState

/// Checks that values are decoded as by Foundation, and survive a round trip.
enum DecoderTarget {
  static func run(_ data: Data) {
    guard let first = data.first else { return }
    let type = Samples.types[Int(first &- UInt8(ascii: "0")) % Samples.types.count]
    run(Data(data.dropFirst()), type)
  }

  private static func run<Value: Codable & Equatable>(_ data: Data, _ type: Value.Type) {
    let expected = try? JSONDecoder().decode(type, from: data)
    guard let document = try? JSONDocument(parsing: data) else { return }
    do {
      let value = try Coders.decoder.decode(type, from: document)
      if let expected, !isReadOtherwise(document) { check(value == expected, "\(value) is \(expected)") }
      checkRoundTrip(value)
    } catch {
      _ = (error as? DecodingError).map { DecodingFailure($0, in: document).description }
      check(expected == nil || isReadOtherwise(document), "\(error)")
    }
  }

  private static func checkRoundTrip<Value: Codable & Equatable>(_ value: Value) {
    let text = attempt("is not written") { try Coders.encoder.encode(value) }
    let again = attempt("is not read again") { try Coders.decoder.decode(Value.self, from: text) }
    check(again == value, "\(again) was \(value)")
    check(attempt("is not written again") { try Coders.encoder.encode(again) } == text, "another text")
    let formed = attempt("is not written") { try Coders.encoder.encode(value, formsReadBy: Coders.decoder) }
    check(formed.text == text, "another text with forms")
    let completed = attempt("is not completed") {
      try Coders.decoder.decode(Value.self, from: JSONDocument(parsing: text), completedBy: JSONDocument(parsing: text))
    }
    check(completed.value == value && completed.paths.isEmpty, "is completed")
  }

  /// Whether the document has anything that Foundation reads differently.
  private static func isReadOtherwise(_ document: JSONDocument) -> Bool {
    document.nodes.indices.contains { node in
      switch document.nodes[node].kind {
      case .number: isInexact(document.text(of: node))
      case .string: isOddInteger(Array(JSONStringBytes(document.contents(of: node))))
      default: false
      }
    }
  }

  /// Foundation reads integers with a point or an exponent as floating-point numbers, which are not exact.
  private static func isInexact(_ text: ArraySlice<UInt8>) -> Bool {
    guard text.contains(where: { ".eE".utf8.contains($0) }) else { return false }
    guard let double = Double(String(decoding: text, as: UTF8.self)), double.magnitude < 9_007_199_254_740_992 else {
      return true
    }
    return JSONNumber(text) != JSONNumber(Array(double.description.utf8)[...])
  }

  /// Of several names that are the same integer, such as `0` and `-0`, Foundation uses an arbitrary one.
  private static func isOddInteger(_ name: [UInt8]) -> Bool {
    let name = String(decoding: name, as: UTF8.self)
    return Int(name).map { $0.description != name } ?? false
  }
}
