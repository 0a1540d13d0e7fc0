/// `@Reducer`: the missing parts of a feature, or all parts of a feature that is one of several.
struct ReducerExpansion {
  private let declaration: Declaration
  private let stateConformances: [String]
  private let actionConformances: [String]

  init(_ request: ExpansionRequest) throws(ExpansionDiagnostic) {
    declaration = try request.parsed()
    let arguments = ReducerArguments(request.attribute)
    (stateConformances, actionConformances) = (arguments.state, arguments.action)
    guard ["struct", "enum"].contains(declaration.keyword) else {
      throw ExpansionDiagnostic(
        message: "'@Reducer' is for a struct, or for an enum of reducers.",
        place: .declaration(offset: declaration.offset)
      )
    }
    if declaration.keyword == "struct", !arguments.isEmpty {
      throw ExpansionDiagnostic(
        message: "'state:' and 'action:' are for an enum of reducers. Write the conformances at 'State' and 'Action'.",
        place: .attribute
      )
    }
  }

  private var access: String { declaration.memberAccess }

  func members() throws(ExpansionDiagnostic) -> String {
    declaration.keyword == "enum" ? try membersOfEnum() : try membersOfStruct()
  }

  /// The compiler's words about code that is valid, but probably not meant.
  var warnings: [ExpansionDiagnostic] {
    let all = declaration.allDeclarations
    guard declaration.keyword == "struct", !all.contains(where: { $0.isBody || $0.isReduce }),
      let action = all.first(where: { $0.isType(named: "Action") })
    else { return [] }
    return [
      ExpansionDiagnostic(
        message: "This feature has actions, but no 'body', so they change nothing. Add a body; "
          + "'var body: some ReducerOf<Self> { EmptyReducer() }' says that it is meant.",
        place: .declaration(offset: action.offset),
        severity: .warning
      )
    ]
  }

  // MARK: - Structs

  private func membersOfStruct() throws(ExpansionDiagnostic) -> String {
    let all = declaration.allDeclarations
    let hasBody = all.contains { $0.isBody }
    let reduce = all.first { $0.isReduce }
    if hasBody, let reduce {
      throw ExpansionDiagnostic(
        message: "A reducer has a 'body' or a 'reduce(into:action:)', which hides the body. Remove one of them.",
        place: .declaration(offset: reduce.offset)
      )
    }
    var added: [String] = []
    // A body that names other types also determines the state and the actions.
    let body = all.first { $0.isBody }?.bodyTypes(of: declaration.name)
    if body?.state == nil, !all.contains(where: { $0.isType(named: "State") }) {
      added.append(
        """
        @SharedStateStore.ObservableState
        \(access)struct State: SharedStateStore.ObservableState, Swift.Codable, Swift.Hashable, Swift.Sendable {
          \(access)init() {}
        }
        """
      )
    }
    if body?.action == nil, !all.contains(where: { $0.isType(named: "Action") }) {
      added.append(
        """
        @SharedStateStore.CasePathable
        \(access)enum Action: SharedStateStore.CasePathable, Swift.Hashable, Swift.Sendable {
        }
        """
      )
    }
    if !hasBody, reduce == nil {
      added.append(
        """
        \(access)var body: SharedStateStore.EmptyReducer<Self.State, Self.Action> {
          SharedStateStore.EmptyReducer()
        }
        """
      )
    }
    return added.joined(separator: "\n\n")
  }

  // MARK: - Enums

  private func membersOfEnum() throws(ExpansionDiagnostic) -> String {
    let states = try lines { one in
      switch one {
      case .plain(let name): "case \(name)"
      case .ignored(let name, let values): "case \(name)(\(values))"
      case .reducer(let name, let type, _), .ephemeral(let name, let type):
        one.isEphemeral ? "case \(name)(\(type))" : "case \(name)(\(type).State)"
      }
    }
    let actions = try lines { one in
      switch one {
      case .plain, .ignored: nil
      case .reducer(let name, let type, _), .ephemeral(let name, let type): "case \(name)(\(type).Action)"
      }
    }
    let scopes = try uses { one, _ in
      guard case .reducer(let name, _, let reducer) = one else { return nil }
      return """
        SharedStateStore.Scope(state: \\Self.State.Cases.\(name), action: \\Self.Action.Cases.\(name)) {
          \(reducer)
        }
        """
    }
    let stores = try lines { one in
      switch one {
      case .plain(let name): "case \(name)"
      case .ignored(let name, let values): "case \(name)(\(values))"
      case .reducer(let name, let type, _): "case \(name)(SharedStateStore.StoreOf<\(type)>)"
      case .ephemeral(let name, let type): "case \(name)(\(type))"
      }
    }
    let choices = try uses { part, one in choice(part, one) }
    // The conformances are written here, although '@CasePathable' and '@ObservableState' would add them: Swift 6.3
    // crashes when the type checker expands extensions of types that a macro has made.
    let stateTypes =
      ["SharedStateStore.CaseReducerState", "SharedStateStore.CasePathable", "SharedStateStore.ObservableState"]
      + Self.withSendable(stateConformances)
    let actionTypes = ["SharedStateStore.CasePathable"] + Self.withSendable(actionConformances)
    var lines = [
      "@SharedStateStore.CasePathable",
      "@SharedStateStore.ObservableState",
      "@dynamicMemberLookup",
      "\(access)enum State: \(stateTypes.joined(separator: ", ")) {",
      "  \(access)typealias StateReducer = \(declaration.name)",
    ]
    lines += states.indented + ["}", ""]
    lines +=
      ["@SharedStateStore.CasePathable", "\(access)enum Action: \(actionTypes.joined(separator: ", ")) {"]
      + actions.indented + ["}", ""]
    lines += deprecation
    lines += [
      "@SharedStateStore.ReducerBuilder<Self.State, Self.Action>",
      "\(access)static var body: some SharedStateStore.Reducer<Self.State, Self.Action> {",
    ]
    lines += scopes.indented + ["}", ""]
    lines += ["\(access)enum CaseScope: Swift.Sendable {"] + stores.indented + ["}", ""]
    lines += deprecation
    lines += [
      "\(access)static func scope(_ store: SharedStateStore.Store<Self.State, Self.Action>) -> CaseScope {",
      "  switch store.state {",
    ]
    return (lines + choices.indented + ["  }", "}"]).joinedLines
  }

  /// Code in a deprecated member may use deprecated cases.
  private var deprecation: [String] {
    let isDeprecated = declaration.allDeclarations.contains { !$0.cases.isEmpty && $0.isDeprecated }
    return isDeprecated ? ["@available(*, deprecated, message: \"It has a deprecated case.\")"] : []
  }

  /// A function in which the compiler finds each case whose value is no reducer. It reports no error in the other
  /// expansions then, and crashes when it makes code of them.
  func membersOfExtension() throws(ExpansionDiagnostic) -> [String] {
    guard declaration.keyword == "enum" else { return [] }
    let checks = try uses { part, one in
      guard case .reducer = part else { return nil }
      return "SharedStateStore._$expectReducer(Self.\(one.name))"
    }
    guard !checks.isEmpty else { return [] }
    return deprecation + ["private static func _$expectReducers() {"] + checks.indented + ["}"]
  }

  /// The expression that chooses the store of a case.
  private func choice(_ part: Part, _ one: EnumCase) -> String {
    switch part {
    case .plain(let name):
      return "case .\(name): return .\(name)"
    case .reducer(let name, _, _):
      return """
        case .\(name)(let state):
          return .\(name)(
            store._$scope(state, state: \\Self.State.Cases.\(name), action: \\Self.Action.Cases.\(name))
          )
        """
    case .ignored(let name, _), .ephemeral(let name, _):
      let values = (one.parameters ?? []).enumerated().map { number, value in
        (name: "value\(number)", label: value.argumentLabel.map { "\($0): " } ?? "")
      }
      let names = values.map { "let \($0.name)" }.joined(separator: ", ")
      let arguments = values.map { $0.label + $0.name }.joined(separator: ", ")
      return "case .\(name)(\(names)): return .\(name)(\(arguments))"
    }
  }

  /// Reducers need it, and it is not inferred for a public type.
  private static func withSendable(_ types: [String]) -> [String] {
    types.contains("Swift.Sendable") ? types : types + ["Swift.Sendable"]
  }

  /// The meaning of a case of the enum.
  private enum Part {
    /// The case has no value.
    case plain(name: String)
    /// The values of the case are not reducers.
    case ignored(name: String, values: String)
    case reducer(name: String, type: String, reducer: String)
    /// The value of the case is a state with actions but without a reducer.
    case ephemeral(name: String, type: String)

    var isEphemeral: Bool {
      guard case .ephemeral = self else { return false }
      return true
    }
  }

  /// Code that uses cases. No value is ever in an unavailable one.
  private func uses(_ make: (Part, EnumCase) -> String?) throws(ExpansionDiagnostic) -> [String] {
    try declaration.lines { member throws(ExpansionDiagnostic) in
      if member.isUnavailable { return [] }
      var lines: [String] = []
      for one in member.cases {
        if let line = make(try part(of: one, in: member), one) { lines.append(line) }
      }
      return lines
    }
  }

  private func lines(_ make: (Part) -> String?) throws(ExpansionDiagnostic) -> [String] {
    try declaration.lines { member throws(ExpansionDiagnostic) in
      var lines: [String] = []
      for one in member.cases {
        guard let line = make(try part(of: one, in: member)) else { continue }
        lines += member.availability + [line]
      }
      return lines
    }
  }

  private func part(of one: EnumCase, in member: Declaration) throws(ExpansionDiagnostic) -> Part {
    guard let values = one.parameters, !values.isEmpty else { return .plain(name: one.name) }
    if member.hasAttribute("ReducerCaseIgnored") {
      let values = values.map { value in
        let type = value.type(in: declaration.name)
        return (value.argumentLabel.map { "\($0): " } ?? "") + type
      }
      return .ignored(name: one.name, values: values.joined(separator: ", "))
    }
    guard values.count == 1, values[0].argumentLabel == nil else {
      throw ExpansionDiagnostic(
        message: "A case of a '@Reducer' enum has one reducer, without a label. "
          + "Write '@ReducerCaseIgnored' in front of a case that has something else.",
        place: .declaration(offset: one.offset)
      )
    }
    let type = values[0].type(in: declaration.name)
    if member.hasAttribute("ReducerCaseEphemeral") { return .ephemeral(name: one.name, type: type) }
    guard !Self.isNoReducer(type) else {
      throw ExpansionDiagnostic(
        message: "A reducer is expected, and '\(type)' is none. "
          + "Write '@ReducerCaseIgnored' in front of a case that has something else.",
        place: .declaration(offset: one.offset)
      )
    }
    return .reducer(name: one.name, type: type, reducer: values[0].defaultValue?.rawText ?? "\(type)()")
  }
}

extension ReducerExpansion {
  /// Whether a type is certainly no reducer. The compiler crashes on its expansion.
  private static func isNoReducer(_ type: String) -> Bool {
    let isBuiltIn = ["[", "("].contains(type.prefix(1)) || ["?", "!"].contains(type.suffix(1))
    if isBuiltIn || type.contains("->") { return true }
    let name = type.prefix { $0 != "<" }
    return valueTypes.contains(name.hasPrefix("Swift.") ? String(name.dropFirst(6)) : String(name))
  }

  private static let valueTypes: Set = [
    "Array", "Bool", "Character", "Dictionary", "Double", "Float", "Int", "Int8", "Int16", "Int32", "Int64", "Optional",
    "Set", "String", "Substring", "UInt", "UInt8", "UInt16", "UInt32", "UInt64", "Void",
  ]
}

/// The arguments of `@Reducer(state: .equatable, action: .sendable)`. `@ReducerCaseIgnored` and the like need none:
/// their names suffice.
struct ReducerArguments {
  private(set) var state: [String] = []
  private(set) var action: [String] = []

  var isEmpty: Bool { state.isEmpty && action.isEmpty }

  init(_ attribute: String) {
    let source = Source(attribute)
    var isAction = false
    for token in source.tokens where token.kind == .identifier {
      switch source.text(token.range) {
      case "state": isAction = false
      case "action": isAction = true
      case let name:
        guard let type = Self.types[name] else { continue }
        if isAction { action.append(type) } else { state.append(type) }
      }
    }
  }

  private static let types = [
    "codable": "Swift.Codable", "decodable": "Swift.Decodable", "encodable": "Swift.Encodable",
    "equatable": "Swift.Equatable", "hashable": "Swift.Hashable", "sendable": "Swift.Sendable",
  ]
}

extension Declaration {
  /// `var body` of an instance.
  var isBody: Bool {
    keyword == "var" && !hasModifier("static") && bindings.count == 1 && bindings[0].name == "body"
      || keyword == "let" && bindings.contains { $0.name == "body" }
  }

  /// The state and the actions that the type of a body names, as in `some Reducer<Int, Bool>` or
  /// `some ReducerOf<Other>`; `nil` for those of the feature itself.
  /// - Parameter feature: The name of the feature.
  func bodyTypes(of feature: String) -> (state: String?, action: String?) {
    // A stored body may name them where its value is made: `EmptyReducer<Int, Bool>()`.
    let binding = bindings.first
    guard let type = binding?.type?.text ?? binding?.value?.text, let start = type.firstIndex(of: "<") else {
      return (nil, nil)
    }
    let name = type[..<start].split { $0 == " " || $0 == "." }.last
    var arguments = [""]
    var depth = 0
    for character in type[type.index(after: start)...] {
      if "<([".contains(character) { depth += 1 } else if ">)]".contains(character) { depth -= 1 }
      if depth < 0 { break }
      if character == ",", depth == 0 { arguments.append("") } else { arguments[arguments.count - 1].append(character) }
    }
    arguments = arguments.map { String($0.drop { $0 == " " }) }
    let isOwn = { (type: String, member: String) in [member, "Self.\(member)", "\(feature).\(member)"].contains(type) }
    switch (name, arguments.count) {
    case ("ReducerOf", 1):
      return ["Self", feature].contains(arguments[0]) ? (nil, nil) : (arguments[0] + ".State", arguments[0] + ".Action")
    case ("Reducer", 2), ("Reduce", 2), ("EmptyReducer", 2):
      return (
        isOwn(arguments[0], "State") ? nil : arguments[0], isOwn(arguments[1], "Action") ? nil : arguments[1]
      )
    default:
      return (nil, nil)
    }
  }

  /// `func reduce(into:action:)`.
  var isReduce: Bool {
    keyword == "func" && name == "reduce" && parameters.map(\.label) == ["into", "action"]
  }

  func isType(named name: String) -> Bool {
    ["struct", "enum", "class", "actor", "typealias"].contains(keyword) && self.name.withoutBackticks == name
  }
}
