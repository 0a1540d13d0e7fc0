/// Describes why a value could not be encoded or decoded, without showing any of it.
///
/// The descriptions of Foundation's errors contain the value in question, which may be a secret.
enum CodingFailure {
  static func reason(of error: any Error) -> String {
    switch error {
    case DecodingError.typeMismatch(_, let context): "another type is needed\(place(context.codingPath))"
    case DecodingError.valueNotFound(_, let context): "a value is missing\(place(context.codingPath))"
    case DecodingError.keyNotFound(let key, let context): "a key is missing\(place(context.codingPath + [key]))"
    case DecodingError.dataCorrupted(let context): "the data is corrupt\(place(context.codingPath))"
    case EncodingError.invalidValue(_, let context): "a value has no JSON form\(place(context.codingPath))"
    default: "\(type(of: error))"
    }
  }

  private static func place(_ path: [any CodingKey]) -> String {
    guard !path.isEmpty else { return "" }
    return " at \(path.map { $0.intValue.map { "[\($0)]" } ?? $0.stringValue }.joined(separator: "."))"
  }
}
