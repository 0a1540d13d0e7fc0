/// `@Presents`: the optional state of a presented feature.
struct PresentsExpansion {
  private let declaration: Declaration
  private let name: String
  private let state: String
  private let value: String?
  private let isObserved: Bool

  init(_ request: ExpansionRequest) throws(ExpansionDiagnostic) {
    declaration = try request.parsed()
    guard declaration.keyword == "var", declaration.bindings.count == 1, let name = declaration.bindings[0].name,
      declaration.bindings[0].accessors == nil, !declaration.hasModifier("static")
    else {
      throw ExpansionDiagnostic(
        message: "'@Presents' is for a stored property, a 'var' of its own.",
        place: .declaration(offset: declaration.offset)
      )
    }
    self.name = name.withoutBackticks
    guard self.name.prefixed("_") == "_" + self.name else {
      throw ExpansionDiagnostic(
        message: "'@Presents' makes a property '$\(self.name)', which is no name. Rename it.",
        place: .declaration(offset: declaration.offset)
      )
    }
    guard let type = declaration.bindings[0].type, let state = Self.wrapped(type.text) else {
      throw ExpansionDiagnostic(
        message: "'@Presents' is for an optional state: write its type, as in 'var \(name): Child.State?'.",
        place: .declaration(offset: declaration.offset)
      )
    }
    self.state = state
    value = declaration.bindings[0].value?.rawText
    // The innermost declaration around it is the state.
    let context = request.context.first.flatMap { try? Parser.header(in: $0) }
    isObserved = context?.hasAttribute("ObservableState") ?? false
  }

  /// The wrapped type of an optional.
  private static func wrapped(_ type: String) -> String? {
    if type.hasSuffix("?") {
      let wrapped = String(type.dropLast())
      return wrapped.hasPrefix("any ") || wrapped.hasPrefix("some ") || wrapped.hasPrefix("@") ? nil : wrapped
    }
    for prefix in ["Optional<", "Swift.Optional<"] where type.hasPrefix(prefix) && type.hasSuffix(">") {
      return String(type.dropFirst(prefix.count).dropLast())
    }
    return nil
  }

  func accessors() throws(ExpansionDiagnostic) -> String {
    """
    {
      @storageRestrictions(initializes: _\(name))
      init(initialValue) {
        _\(name) = SharedStateStore.PresentationState(wrappedValue: initialValue)
      }
    \(lines(of: "_\(name).wrappedValue").indented.joinedLines)
    }
    """
  }

  func storage() throws(ExpansionDiagnostic) -> String {
    let ignored = isObserved ? ["@SharedStateStore.ObservationStateIgnored"] : []
    let value = value ?? "nil"
    let lines =
      ["\(declaration.writtenAccess)var $\(name): SharedStateStore.PresentationState<\(state)> {"]
      + lines(of: "_\(name)").indented + ["}", ""] + ignored
      + ["private var _\(name) = SharedStateStore.PresentationState<\(state)>(wrappedValue: \(value))"]
    return lines.joinedLines
  }

  /// The accessors of one of the two properties over the storage.
  private func lines(of storage: String) -> [String] {
    guard isObserved else {
      return ["get { \(storage) }", "set { \(storage) = newValue }", "_modify { yield &\(storage) }"]
    }
    return [
      "get {",
      "  _$observationRegistrar.access(\"\(name)\")",
      "  return \(storage)",
      "}",
      "set {",
      "  _$observationRegistrar.willChange()",
      "  _$observationRegistrar.set(\"\(name)\", &\(storage), to: newValue)",
      "}",
      "_modify {",
      "  let before = _$observationRegistrar.willModify(\(storage))",
      "  defer { _$observationRegistrar.didModify(\"\(name)\", \(storage), before) }",
      "  yield &\(storage)",
      "}",
    ]
  }
}
