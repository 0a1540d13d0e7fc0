/// `#expect(throws:performing:)` and `#require(throws:performing:)` with a code of an error of Redis: a call of a
/// function with the same arguments.
struct ExpectationExpansion {
  private let name: String
  private let arguments: String

  init(_ request: ExpansionRequest) throws(ExpansionDiagnostic) {
    let source = Source(request.attribute)
    guard source.tokens.count > 2, source.text(source.tokens[0].range) == "#" else {
      throw ExpansionDiagnostic(message: "'#' and the name of the macro are missing.", place: .attribute)
    }
    name = source.text(source.tokens[1].range)
    arguments = source.text(source.tokens[1].range.upperBound..<source.bytes.count)
  }

  func call() -> String { "SharedStateRedisTesting._\(name)\(arguments)" }
}
