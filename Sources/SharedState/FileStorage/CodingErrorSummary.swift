/// Describes why a value could not be encoded or decoded, without showing any of it.
///
/// The descriptions of Foundation's errors contain the value in question, which may be a secret.
package enum CodingErrorSummary {
  package static func text(of error: any Error) -> String {
    switch error {
    case DecodingError.typeMismatch(let type, let context): "expected \(type)\(place(context.codingPath))"
    case DecodingError.valueNotFound(let type, let context): "found null instead of \(type)\(place(context.codingPath))"
    case DecodingError.keyNotFound(let key, let context):
      "found no '\(PathText.text(of: [key]))'\(place(context.codingPath))"
    case DecodingError.dataCorrupted(let context): "the data are corrupted\(place(context.codingPath))"
    case EncodingError.invalidValue(let value, let context): "invalid \(type(of: value))\(place(context.codingPath))"
    default: "\(type(of: error))"
    }
  }

  private static func place(_ path: [any CodingKey]) -> String {
    path.isEmpty ? "" : " at \(PathText.text(of: path))"
  }
}
