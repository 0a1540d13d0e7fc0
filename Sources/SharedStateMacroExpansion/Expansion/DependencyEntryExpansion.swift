/// `@DependencyEntry`: a dependency and its key.
struct DependencyEntryExpansion {
  private let declaration: Declaration
  private let binding: Binding
  private let name: String
  private let access: String
  private let key: String
  /// Whether the name of the key was given.
  private let isNamed: Bool
  /// The values of the key, by name.
  private let values: [(name: String, value: String)]

  init(_ request: ExpansionRequest) throws(ExpansionDiagnostic) {
    declaration = try request.parsed()
    let place = ExpansionDiagnostic.Place.declaration(offset: declaration.offset)
    let context = request.context.first.flatMap { try? Parser.header(in: $0) }
    guard declaration.keyword == "var", declaration.bindings.count == 1, let name = declaration.bindings[0].name,
      declaration.bindings[0].accessors == nil, !declaration.hasModifier("static"),
      context?.keyword == "extension", context?.name.split(separator: ".").last == "DependencyValues"
    else {
      throw ExpansionDiagnostic(
        message: "'@DependencyEntry' is for a 'var' of its own in an extension of 'DependencyValues'.",
        place: place
      )
    }
    binding = declaration.bindings[0]
    self.name = name.withoutBackticks
    let arguments = Arguments(ofAttribute: request.attribute)
    let values = [
      ("liveValue", arguments["liveValue"]), ("previewValue", arguments["previewValue"]),
      ("testValue", binding.value?.rawText),
    ]
    self.values = values.compactMap { name, value in value.map { (name, $0) } }
    guard arguments["liveValue"] != nil || binding.value != nil else {
      throw ExpansionDiagnostic(
        message: "'\(name)' needs a value for tests, as in 'var \(name) = Client()', or a 'liveValue'.",
        place: place
      )
    }
    access = Self.access(of: declaration, context)
    isNamed = arguments[nil] != nil
    if let argument = arguments[nil] {
      guard let text = argument.literalText, !text.isEmpty else {
        throw ExpansionDiagnostic(
          message: "The name of a key is written as a literal, as in '@DependencyEntry(\"ClientKey\")'.",
          place: .attribute
        )
      }
      key = text
    } else if access.isEmpty {
      key = self.name.prefixed("_$Key_")
    } else {
      key = (binding.type.flatMap { Self.typeName($0.text) } ?? Self.capitalized(self.name)) + "Key"
    }
  }

  private static func access(of declaration: Declaration, _ context: Declaration?) -> String {
    if !declaration.memberAccess.isEmpty { return declaration.memberAccess }
    // The members of an extension are as accessible as it says, unless they say otherwise.
    guard !["internal", "fileprivate", "private"].contains(where: declaration.hasModifier) else { return "" }
    return context?.memberAccess ?? ""
  }

  /// The name of a type without the types around it, its arguments and its module; `nil` if it has no name.
  private static func typeName(_ type: String) -> String? {
    var type = type
    for prefix in ["any ", "some "] where type.hasPrefix(prefix) { type.removeFirst(prefix.count) }
    while type.hasSuffix("?") { type.removeLast() }
    let path = type.prefix { $0 != "<" }
    guard let name = path.split(separator: ".").last, !name.isEmpty,
      name.unicodeScalars.allSatisfy({ $0.properties.isXIDContinue })
    else { return nil }
    return String(name)
  }

  private static func capitalized(_ name: String) -> String {
    name.prefix(1).uppercased() + name.dropFirst()
  }

  func accessors() -> String {
    """
    {
      get { self[\(key).self] }
      set { self[\(key).self] = newValue }
    }
    """
  }

  func keyLines() -> String {
    let isLive = values.contains { $0.name == "liveValue" }
    let keyAccess = access.isEmpty ? (isNamed ? "" : "private ") : access
    let members =
      binding.type.map { type in
        ["\(access)typealias Value = \(type.text)"]
          + values.map { "\(access)static var \($0.name): \(type.text) { \($0.value) }" }
      }
      // The compiler infers the type from a property that is stored before the macro is expanded.
      ?? values.map { "@SharedStateDependenciesMacros._$DependencyValue \(access)static var \($0.name) = \($0.value)" }
    let conformance = isLive ? "DependencyKey" : "TestDependencyKey"
    let lines =
      declaration.availability
      + ["\(keyAccess)nonisolated enum \(key): SharedStateDependencies.\(conformance) {"] + members.indented + ["}"]
    return lines.joinedLines
  }
}

/// `@_$DependencyValue`: evaluates the initial value at each access.
struct DependencyValueExpansion {
  private let value: String

  init(_ request: ExpansionRequest) throws(ExpansionDiagnostic) {
    let declaration = try request.parsed()
    guard declaration.bindings.count == 1, let value = declaration.bindings[0].value else {
      throw ExpansionDiagnostic(
        message: "Only '@DependencyEntry' uses this macro.",
        place: .declaration(offset: declaration.offset)
      )
    }
    self.value = value.rawText
  }

  func accessors() -> String { "{\n  get { \(value) }\n}" }
}
