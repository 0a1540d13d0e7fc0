/// `@DependencyEndpoint`: a closure of a client that reports that a test has not overridden it.
struct DependencyEndpointExpansion {
  private static let module = "SharedStateDependenciesMacros"
  /// Attributes of a closure's type that a method cannot have.
  private static let attributesOfTypes = ["@Sendable", "@escaping"]

  private let declaration: Declaration
  private let binding: Binding
  private let name: String
  private let type: FunctionType
  private let method: String
  /// The name for the issue, with the types around it.
  private let path: String

  init(_ request: ExpansionRequest) throws(ExpansionDiagnostic) {
    declaration = try request.parsed()
    guard declaration.keyword == "var", declaration.bindings.count == 1, let name = declaration.bindings[0].name,
      declaration.bindings[0].accessors == nil, !declaration.hasModifier("static"), !declaration.hasModifier("lazy")
    else {
      throw ExpansionDiagnostic(
        message: "'@DependencyEndpoint' is for a stored property, a 'var' of its own.",
        place: .declaration(offset: declaration.offset)
      )
    }
    binding = declaration.bindings[0]
    self.name = name.withoutBackticks
    guard let text = binding.type?.text, let type = Parser.functionType(in: text) else {
      throw ExpansionDiagnostic(
        message: "'@DependencyEndpoint' is for a closure: write its type, as in 'var \(name): () async throws -> Int'.",
        place: .declaration(offset: declaration.offset)
      )
    }
    self.type = type
    if let argument = Arguments(ofAttribute: request.attribute)["method"] {
      guard let text = argument.literalText, !text.isEmpty else {
        throw ExpansionDiagnostic(
          message: "The name of a method is written as a literal, as in '@DependencyEndpoint(method: \"fetch\")'.",
          place: .attribute
        )
      }
      method = text
    } else {
      method = name
    }
    let types = request.context.compactMap { try? Parser.header(in: $0).name }.filter { !$0.isEmpty }
    path = (types.reversed() + [self.name]).joined(separator: ".")
  }

  private var storage: String { name.prefixed("_") }

  func accessors() -> String {
    // Otherwise the initial value would initialize the storage, too, and the closure would not report.
    let initializer = """

        @storageRestrictions(initializes: \(storage))
        init(initialValue) {
          \(storage) = initialValue
        }
      """
    return """
      {\(binding.value == nil ? initializer : "")
        get { \(storage) }
        set { \(storage) = newValue }
      }
      """
  }

  /// The property that keeps the closure, and a method with the labels of its parameters, if it has any.
  func peers() throws(ExpansionDiagnostic) -> String {
    let text = binding.type?.text ?? ""
    let lines = ["private var \(storage): \(text) = {"] + (try unimplemented()).indented + ["}"]
    return (lines + (try methodLines())).joinedLines
  }

  // MARK: - The closure before a test overrides it

  private func unimplemented() throws(ExpansionDiagnostic) -> [String] {
    let report = "\(Self.module)._reportUnimplemented(\(path.literal))"
    guard let value = binding.value else {
      let ignored = type.parameters.isEmpty ? [] : [type.parameters.map { _ in "_" }.joined(separator: ", ") + " in"]
      switch type.failure {
      case .any: return ignored + [report, "throw \(Self.module).Unimplemented(\(path.literal))"]
      case .never where ["Void", "()", "Swift.Void"].contains(type.result): return ignored + [report]
      case .never, .typed:
        throw ExpansionDiagnostic(
          message: """
            '\(name)' needs a value to return in a test that has not overridden it, because it cannot throw just any \
            error: write '= { … }' behind its type.
            """,
          place: .declaration(offset: declaration.offset)
        )
      }
    }
    // The value may be any expression, so it is called instead of changed.
    let names = type.parameters.isEmpty ? [] : [names.joined(separator: ", ") + " in"]
    return names + [
      report, "let value: \(binding.type?.text ?? "") = \(value.rawText)",
      "return \(marks)value(\(try arguments()))",
    ]
  }

  /// What stands in front of a call.
  private var marks: String {
    let words = type.effects.split(separator: " ")
    return (type.failure == .never ? "" : "try ") + (words.contains("async") ? "await " : "")
  }

  private var names: [String] { type.parameters.indices.map { "p\($0)" } }

  private func arguments() throws(ExpansionDiagnostic) -> String {
    var arguments: [String] = []
    for (parameter, name) in zip(type.parameters, names) {
      guard !parameter.isVariadic else {
        throw ExpansionDiagnostic(
          message: "'\(self.name)' has any number of parameters, which cannot be passed on. Use an array.",
          place: .declaration(offset: declaration.offset)
        )
      }
      let words = parameter.type.text.split(separator: " ")
      if words.contains("inout") || parameter.modifiers.contains("inout") {
        arguments.append("&" + name)
      } else {
        arguments.append(words.contains("@autoclosure") ? name + "()" : name)
      }
    }
    return arguments.joined(separator: ", ")
  }

  // MARK: - The method

  private func methodLines() throws(ExpansionDiagnostic) -> [String] {
    let hasLabels = type.parameters.contains { $0.name != nil && $0.name != "_" }
    guard hasLabels || method != name else { return [] }
    let parameters = zip(type.parameters, names).map { parameter, name in
      let label = parameter.name ?? "_"
      let modifiers = parameter.modifiers.map { $0 + " " }.joined()
      return "\(label) \(name): \(modifiers)\(parameter.type.text)"
    }
    let attributes = type.prefix.split(separator: " ").map(String.init)
      .filter { !Self.attributesOfTypes.contains($0) && !$0.hasPrefix("@convention") }
    let effects = type.effects.isEmpty ? "" : type.effects + " "
    let access = declaration.writtenAccess
    let head = (attributes + ["\(access)func \(method)(\(parameters.joined(separator: ", ")))"]).joined(separator: " ")
    return [""] + declaration.availability + [
      "\(head) \(effects)-> \(type.result) {",
      "  \(marks)\(storage)(\(try arguments()))",
      "}",
    ]
  }
}
