/// Describes errors of coders without the values that they mention.
enum CodingErrorSummary {
  static func text(of error: DecodingError) -> String {
    switch error {
    case .typeMismatch(let type, let context): "expected \(type)\(place(context.codingPath))"
    case .valueNotFound(let type, let context): "found null instead of \(type)\(place(context.codingPath))"
    case .keyNotFound(let key, let context): "found no '\(key.stringValue)'\(place(context.codingPath))"
    case .dataCorrupted(let context): "the data are corrupted\(place(context.codingPath))"
    @unknown default: "it cannot be decoded"
    }
  }

  static func text(of error: EncodingError) -> String {
    switch error {
    case .invalidValue(let value, let context): "invalid \(type(of: value))\(place(context.codingPath))"
    @unknown default: "it cannot be encoded"
    }
  }

  private static func place(_ path: [any CodingKey]) -> String {
    path.isEmpty ? "" : " at \(path.map(\.stringValue).joined(separator: "."))"
  }
}
