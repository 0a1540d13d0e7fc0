/// The messages between the compiler and its plugins: a pure function from request to answer, for every request.
package enum PluginMessage {
  /// The version of Swift 6.0 to 6.3. A newer compiler still speaks it with older plugins.
  static let protocolVersion = 7

  private static let versions = "version \(protocolVersion) of the protocol of macro plugins, of Swift 6.0 to 6.3"

  /// The answer to the compiler.
  package static func answer(to message: [UInt8]) -> [UInt8] {
    let answer: JSON
    do throws(JSON.ReadingError) {
      answer = self.answer(to: try JSON(message))
    } catch {
      answer = refusal("The compiler has sent a message that is not JSON at byte \(error.offset).", at: nil)
    }
    return answer.bytes
  }

  private static func answer(to message: JSON) -> JSON {
    if message["getCapability"] != nil {
      let capability: JSON = .object(["protocolVersion": .number(Double(protocolVersion))])
      return .object(["getCapabilityResult": .object(["capability": capability])])
    }
    if let request = message["expandAttachedMacro"] { return expansion(of: request, at: request["attributeSyntax"]) }
    if let request = message["expandFreestandingMacro"] { return expansion(of: request, at: request["syntax"]) }
    var name = "a message without a name"
    if case .object(let members) = message, let first = members.keys.min() { name = "'\(first)'" }
    let text = """
      The macros of swift-shared-state do not know \(name), which this compiler asks of them. They speak \(versions). \
      Update swift-shared-state, or use a compiler that it knows.
      """
    return refusal(text, at: nil)
  }

  /// - Parameter attribute: The attribute; the whole expression if the macro is one.
  private static func expansion(of request: JSON, at attribute: JSON?) -> JSON {
    let declaration = request["declSyntax"]
    let expansion = ExpansionRequest(
      macro: request["macro"]?["typeName"]?.string ?? "",
      role: request["macroRole"]?.string ?? "",
      attribute: attribute?["source"]?.string ?? "",
      declaration: declaration?["source"]?.string ?? "",
      parent: request["parentDeclSyntax"]?["source"]?.string,
      type: request["extendedTypeSyntax"]?["source"]?.string,
      conformances: request["conformanceListSyntax"]?["source"]?.string,
      context: (request["lexicalContext"]?.array ?? []).compactMap { $0["source"]?.string }
    ).run()
    let diagnostics = expansion.diagnostics.map { diagnostic in
      switch diagnostic.place {
      case .attribute: json(diagnostic, in: attribute, offset: start(of: attribute))
      case .declaration(let offset): json(diagnostic, in: declaration, offset: offset)
      }
    }
    return result(expansion.source, diagnostics: diagnostics)
  }

  private static func refusal(_ text: String, at syntax: JSON?) -> JSON {
    let diagnostic = ExpansionDiagnostic(message: text, place: .attribute)
    return result(nil, diagnostics: [json(diagnostic, in: syntax, offset: start(of: syntax))])
  }

  /// The offset of its first token, behind white space and comments.
  private static func start(of syntax: JSON?) -> Int {
    Source(syntax?["source"]?.string ?? "").tokens.first?.range.lowerBound ?? 0
  }

  private static func result(_ source: String?, diagnostics: [JSON]) -> JSON {
    let members: [String: JSON] = [
      "expandedSource": source.map { .string($0) } ?? .null,
      "diagnostics": .array(diagnostics),
    ]
    return .object(["expandMacroResult": .object(members)])
  }

  private static func json(_ diagnostic: ExpansionDiagnostic, in syntax: JSON?, offset: Int) -> JSON {
    let location = syntax?["location"]
    let position: [String: JSON] = [
      "fileName": .string(location?["fileName"]?.string ?? ""),
      "offset": .number(Double((location?["offset"]?.integer ?? 0) + offset)),
    ]
    return .object([
      "message": .string(diagnostic.message),
      "severity": .string(diagnostic.severity.rawValue),
      "position": .object(position),
      "highlights": .array([]),
      "notes": .array([]),
      "fixIts": .array([]),
    ])
  }
}
