/// A raw-valued type whose unknown values are skipped by arrays, sets and dictionaries of a shared value.
///
/// ```swift
/// enum Flag: String, SkippedWhenUnknown { case search, checkout }
/// ```
///
/// Without this conformance, an element or the key of an entry that a release does not know makes the whole document
/// unreadable for that release. An edit that turns one flag off, and turns on another that only a newer release knows,
/// then turns nothing off in the older release. With the conformance the release reads the elements that it knows. In
/// Redis the others stay in the document when the release changes the value, as unknown fields do. A file is written as
/// a whole, without either.
///
/// It holds for the elements of `Array` and `Set`, and for the keys of a `Dictionary` that is stored as an object. An
/// array of such elements merges element by element. A single value that is unknown, and an element of another kind, such
/// as a number among strings, are errors as before. A subclass of `JSONDecoder` skips nothing.
public protocol SkippedWhenUnknown: RawRepresentable, Codable where RawValue: Codable & Hashable {}

/// Finds the unknown values of a type that is ``SkippedWhenUnknown``.
class UnknownValues: @unchecked Sendable {
  // `@unchecked Sendable` is right because subclasses have only constants.

  /// Finds those of a type; `nil` when collections do not skip its values.
  static func of(_ type: Any.Type) -> UnknownValues? {
    (type as? any SkippedWhenUnknown.Type).map { make($0) }
  }

  private static func make<Value: SkippedWhenUnknown>(_ type: Value.Type) -> UnknownValues {
    UnknownRawValues<Value>()
  }

  /// Whether the value at a place is one that the type does not know.
  func contain(_ place: ReadingPlace, of reader: DocumentReader) -> Bool { false }

  /// Whether the name of an entry is a key that the type does not know.
  func contain(name: String) -> Bool { false }

  /// The form of an array, which keeps the unknown values when it changes.
  func form(of elements: Any, _ coders: FormCoders) -> Form? { nil }
}

private final class UnknownRawValues<Value: SkippedWhenUnknown>: UnknownValues, @unchecked Sendable {
  private let rawValue = TypeDecoding.of(Value.RawValue.self)

  override func contain(_ place: ReadingPlace, of reader: DocumentReader) -> Bool {
    let found = reader.probe { try rawValue.read(at: place, from: $0) }
    return found.map { Value(rawValue: $0) == nil } ?? false
  }

  override func contain(name: String) -> Bool {
    let found = name as? Value.RawValue ?? Int(name) as? Value.RawValue
    return found.map { Value(rawValue: $0) == nil } ?? false
  }

  override func form(of elements: Any, _ coders: FormCoders) -> Form? {
    (elements as? [Value]).flatMap { coders.listForm(of: $0, id: \.rawValue) }
  }
}
