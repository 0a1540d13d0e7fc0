import Foundation

@testable import SharedStateMacroExpansion

/// Checks that the macros answer every request, that errors lie within the source, and that expansions can be parsed.
enum MacrosTarget {
  /// The first byte of an input chooses one of them.
  private static let roles: [(macro: Macro, role: String)] = [
    (.casePathable, "member"), (.reducer, "member"), (.observableState, "member"), (.presents, "peer"),
    (.observationStateTracked, "peer"), (.reducer, "memberAttribute"), (.observableState, "memberAttribute"),
    (.casePathable, "extension"), (.presents, "accessor"), (.observationStateTracked, "accessor"),
    (.dependencyClient, "member"), (.dependencyClient, "memberAttribute"), (.dependencyEndpoint, "accessor"),
    (.dependencyEndpoint, "peer"), (.dependencyEntry, "peer"),
  ]

  static func run(_ data: Data) {
    guard let first = data.first else { return }
    let text = String(decoding: data.dropFirst(), as: UTF8.self)
    if first == UInt8(ascii: "{") { return checkMessage(data) }
    checkTokens(of: text)
    let (macro, role) = roles[Int(first) % roles.count]
    var request = ExpansionRequest()
    (request.macro, request.role, request.declaration, request.parent) = (macro.rawValue, role, text, text)
    (request.type, request.conformances) = ("A", "struct Placeholder: CasePathable {}")
    // The text may begin with the attribute.
    (request.attribute, request.context) = (text, ["extension DependencyValues {}"])
    let expansion = request.run()
    for case .declaration(let offset) in expansion.diagnostics.map(\.place) {
      check(0...text.utf8.count ~= offset, "byte \(offset) of \(text.utf8.count)")
    }
    let severities = expansion.diagnostics.map(\.severity)
    guard let source = expansion.source else { return check(severities == [.error], "refused with \(severities)") }
    check(!severities.contains(.error), "an error and a source")
    checkSource(source, role)
  }

  private static func checkTokens(of text: String) {
    var end = 0
    for token in Source(text).tokens {
      check(token.range.lowerBound >= end && token.range.upperBound <= text.utf8.count, "a token is out of place")
      check(token.kind == .end || !token.range.isEmpty, "an empty token")
      end = token.range.upperBound
    }
    check(end == text.utf8.count, "the text goes on behind its last token")
  }

  private static func checkSource(_ source: String, _ role: String) {
    let declaration =
      switch role {
      case "member", "peer": "struct S {\n\(source)\n}"
      case "accessor": "var v: V \(source)"
      case "memberAttribute": "\(source)\nvar v: V"
      default: source.isEmpty ? "struct S {}" : source
      }
    do throws(ParsingError) {
      _ = try Parser.declaration(in: declaration)
    } catch {
      fatalError("The expansion cannot be parsed: \(error)\n\(declaration)")
    }
  }

  /// Checks the answer to an unmodified message of the compiler.
  private static func checkMessage(_ data: Data) {
    let answer = PluginMessage.answer(to: Array(data))
    guard case .object(let members) = attempt("the answer", { try JSON(answer) }) else { fatalError("no object") }
    check(members.count == 1, "\(members.count) answers")
    check((try? JSONSerialization.jsonObject(with: Data(answer))) != nil, "no JSON")
  }
}
