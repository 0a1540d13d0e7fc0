extension Parser {
  private static let modifiers: Set<String> = [
    "public", "package", "internal", "fileprivate", "private", "open", "static", "final", "lazy", "weak", "unowned",
    "indirect", "mutating", "nonmutating", "override", "required", "convenience", "optional", "dynamic", "prefix",
    "infix", "postfix", "nonisolated", "isolated", "distributed", "consuming", "borrowing", "__consuming", "__owned",
    "_const", "_local", "sending", "async",
  ]

  private static let keywords: Set<String> = [
    "var", "let", "func", "init", "deinit", "subscript", "typealias", "associatedtype", "case", "struct", "enum",
    "class", "actor", "protocol", "extension", "import", "operator", "precedencegroup", "macro", "inout",
  ]

  mutating func parseDeclaration() throws(ParsingError) -> Declaration {
    try nested { parser throws(ParsingError) in try parser.parseDeclarationHere() }
  }

  private mutating func parseDeclarationHere() throws(ParsingError) -> Declaration {
    let start = start
    var declaration = Declaration()
    try parseAttributes(of: &declaration)
    try parseModifiers(of: &declaration)
    declaration.offset = self.start
    guard isIdentifier, Self.keywords.contains(text) else { throw error("Expected a declaration.") }
    declaration.keyword = text
    advance()
    switch declaration.keyword {
    case "struct", "enum", "class", "actor", "protocol": try parseNominalType(&declaration)
    case "extension": try parseExtension(&declaration)
    case "var", "let", "inout": declaration.bindings = try parseBindings()
    case "case": declaration.cases = try parseCases()
    case "func", "macro", "init", "subscript", "deinit": try parseFunction(&declaration)
    case "typealias", "associatedtype": try parseTypeAlias(&declaration)
    case "import": try skipImport()
    case "operator": try parseOperator(&declaration)
    default:
      declaration.name = try parseName("a precedence group")
      try parseBody(of: &declaration)
    }
    declaration.range = start..<end
    return declaration
  }

  // MARK: - Attributes and modifiers

  private mutating func parseAttributes(of declaration: inout Declaration) throws(ParsingError) {
    while true {
      if at("@") {
        declaration.attributes.append(try parseAttribute())
      } else if try isConditionOfAttributes() {
        try parseConditionalAttributes(of: &declaration)
      } else {
        return
      }
    }
  }

  /// Whether the `#if` contains only attributes.
  private func isConditionOfAttributes() throws(ParsingError) -> Bool {
    guard at("#"), text(1) == "if" else { return false }
    var parser = self
    var declaration = Declaration()
    do throws(ParsingError) { try parser.parseConditionalAttributes(of: &declaration) } catch { return false }
    return !declaration.attributes.isEmpty
  }

  private mutating func parseConditionalAttributes(of declaration: inout Declaration) throws(ParsingError) {
    advance()
    advance()
    _ = try parseExpressionOfCondition()
    while true {
      if at("@") {
        declaration.attributes.append(try parseAttribute(isConditional: true))
      } else if at("#"), text(1) == "if" {
        try nested { parser throws(ParsingError) in try parser.parseConditionalAttributes(of: &declaration) }
      } else if at("#"), text(1) == "elseif" {
        advance()
        advance()
        _ = try parseExpressionOfCondition()
      } else if at("#"), text(1) == "else" {
        advance()
        advance()
      } else if at("#"), text(1) == "endif" {
        advance()
        advance()
        return
      } else {
        throw error("Expected an attribute or '#endif'.")
      }
    }
  }

  private mutating func parseModifiers(of declaration: inout Declaration) throws(ParsingError) {
    while isIdentifier, Self.modifiers.contains(text) || at("class") && isModifierHere {
      let name = text
      advance()
      var detail: String?
      if at("("), current.partner == position.index + 2 {
        detail = text(1)
        try skipGroup()
      }
      declaration.modifiers.append(Modifier(name: name, detail: detail))
      // An attribute may also stand behind a modifier.
      while at("@") { declaration.attributes.append(try parseAttribute()) }
    }
  }

  /// `class` is a modifier in front of a member.
  private var isModifierHere: Bool {
    let next = text(1)
    if ["func", "var", "let", "subscript", "init", "typealias", "class"].contains(next) { return true }
    return Self.modifiers.contains(next) && ![":", "{", "<"].contains(text(2))
  }

  // MARK: - Types

  private mutating func parseNominalType(_ declaration: inout Declaration) throws(ParsingError) {
    declaration.name = try parseName("a type")
    declaration.genericParameters = try parseGenericParameters()
    try parseInheritance(of: &declaration)
    declaration.requirements = try parseRequirements()
    try parseMemberBlock(of: &declaration)
  }

  private mutating func parseExtension(_ declaration: inout Declaration) throws(ParsingError) {
    let type = try parseType()
    declaration.name = type.text
    try parseInheritance(of: &declaration)
    declaration.requirements = try parseRequirements()
    try parseMemberBlock(of: &declaration)
  }

  private mutating func parseInheritance(of declaration: inout Declaration) throws(ParsingError) {
    guard consume(":") else { return }
    repeat { declaration.inheritedTypes.append(try parseType()) } while consume(",")
  }

  private mutating func parseMemberBlock(of declaration: inout Declaration) throws(ParsingError) {
    guard at("{") else { return }
    advance()
    declaration.members = try parseMembers()
    try expect("}", "Expected a declaration or '}'.")
  }

  private mutating func parseMembers() throws(ParsingError) -> [Member] {
    var members: [Member] = []
    while true {
      while consume(";") {}
      if at("}") || current.kind == .end { return members }
      if at("#") {
        switch text(1) {
        case "elseif", "else", "endif":
          return members
        case "if" where try !isConditionOfAttributes():
          members.append(.conditional(try parseConditional()))
          continue
        case "if":
          break
        default:
          members.append(.expansion(try parseExpansion()))
          continue
        }
      }
      if isExpansionBehindAttributes {
        members.append(.expansion(try parseExpansion()))
      } else {
        members.append(.declaration(try parseDeclaration()))
      }
    }
  }

  /// `@attribute #macro(…)`.
  private var isExpansionBehindAttributes: Bool {
    guard at("@") else { return false }
    var parser = self
    var declaration = Declaration()
    do throws(ParsingError) {
      try parser.parseAttributes(of: &declaration)
      try parser.parseModifiers(of: &declaration)
    } catch {
      return false
    }
    return parser.at("#") && parser.text(1) != "if"
  }

  private mutating func parseConditional() throws(ParsingError) -> [Clause] {
    try nested { parser throws(ParsingError) in
      var clauses: [Clause] = []
      while true {
        guard parser.at("#") else { throw parser.error("Expected '#endif'.") }
        parser.advance()
        let keyword = "#" + parser.text
        parser.advance()
        if keyword == "#endif" { return clauses }
        let condition = keyword == "#else" ? nil : try parser.parseExpressionOfCondition()
        clauses.append(Clause(keyword: keyword, condition: condition, members: try parser.parseMembers()))
      }
    }
  }

  private mutating func parseExpansion() throws(ParsingError) -> Fragment {
    let start = start
    var declaration = Declaration()
    try parseAttributes(of: &declaration)
    try parseModifiers(of: &declaration)
    _ = try parseExpression()
    return fragment(from: start)
  }

  // MARK: - Members

  private mutating func parseBindings() throws(ParsingError) -> [Binding] {
    var bindings: [Binding] = []
    repeat {
      let start = start
      var name: String?
      if at("(") {
        try skipGroup()
      } else {
        name = try parseName("a property")
      }
      var binding = Binding(pattern: fragment(from: start), name: name)
      if consume(":") { binding.type = try parseType() }
      if current.kind == .operator, at("=") {
        advance()
        binding.value = try parseExpression()
      }
      if at("{") {
        let start = self.start
        binding.accessors = try parseAccessors()
        binding.accessorBlock = fragment(from: start)
      }
      bindings.append(binding)
    } while consume(",")
    return bindings
  }

  private mutating func parseCases() throws(ParsingError) -> [EnumCase] {
    var cases: [EnumCase] = []
    repeat {
      let offset = start
      let name = try parseName("a case")
      var parameters: [Parameter]?
      if at("(") { parameters = try parseParameters() }
      var rawValue: Fragment?
      if current.kind == .operator, at("=") {
        advance()
        rawValue = try parseExpression()
      }
      cases.append(EnumCase(name: name, offset: offset, parameters: parameters, rawValue: rawValue))
    } while consume(",")
    return cases
  }

  mutating func parseParameters() throws(ParsingError) -> [Parameter] {
    guard at("("), let partner = current.partner else { throw error("Expected '('.") }
    advance()
    var parameters: [Parameter] = []
    while position.index < partner {
      parameters.append(try parseParameter())
      guard consume(",") else { break }
    }
    guard position.index == partner else { throw error("Expected ',' or ')'.") }
    advance()
    return parameters
  }

  private mutating func parseParameter() throws(ParsingError) -> Parameter {
    var attributes: [Attribute] = []
    var modifiers: [String] = []
    var label: String?
    var name: String?
    // Without a label, attributes belong to the type of the value.
    let position = position
    while at("@") { attributes.append(try parseAttribute()) }
    while isIdentifier, token(1).kind == .identifier, token(2).kind == .identifier || text(2) == ":",
      ["isolated", "_const", "borrowing", "consuming", "inout", "sending"].contains(text), text(1) != ":"
    {
      // `isolated` may be a label, too: `isolated name: Type` has one name behind it.
      if text(2) == ":", token(2).range.count == 1, !isModifierOfParameter { break }
      modifiers.append(text)
      advance()
    }
    if isIdentifier, isColon(1) {
      label = text
      advance()
      advance()
    } else if isIdentifier, token(1).kind == .identifier, isColon(2) {
      label = text
      name = text(1)
      advance()
      advance()
      advance()
    } else {
      attributes = []
      modifiers = []
      self.position = position
    }
    let type = try parseType()
    var isVariadic = false
    if current.kind == .operator, startsWith("...") {
      isVariadic = true
      _ = consumePrefix("...")
    }
    var defaultValue: Fragment?
    if current.kind == .operator, at("=") {
      advance()
      defaultValue = try parseExpression()
    }
    return Parameter(
      attributes: attributes,
      modifiers: modifiers,
      label: label,
      name: name,
      type: type,
      isVariadic: isVariadic,
      defaultValue: defaultValue
    )
  }

  private var isModifierOfParameter: Bool { at("isolated") || at("_const") }

  /// A colon that is not the first of `::`.
  private func isColon(_ distance: Int) -> Bool {
    text(distance) == ":"
      && !(text(distance + 1) == ":" && token(distance + 1).range.lowerBound == token(distance).range.upperBound)
  }

  private mutating func parseFunction(_ declaration: inout Declaration) throws(ParsingError) {
    switch declaration.keyword {
    case "func", "macro":
      guard isIdentifier || current.kind == .operator else { throw error("Expected the name of a function.") }
      declaration.name = text
      if current.kind == .operator { splitOperatorName(&declaration) } else { advance() }
    case "init":
      if at("?") || at("!") { advance() }
    default:
      break
    }
    if declaration.keyword == "deinit" {
      try skipEffects()
      return try parseBody(of: &declaration)
    }
    declaration.genericParameters = try parseGenericParameters()
    declaration.parameters = try parseParameters()
    try skipEffects()
    if consume("->") { declaration.result = try parseType() }
    if declaration.keyword == "macro", current.kind == .operator, at("=") {
      advance()
      _ = try parseExpression()
    }
    declaration.requirements = try parseRequirements()
    if declaration.keyword == "subscript" {
      if at("{") { declaration.accessors = try parseAccessors() }
    } else {
      try parseBody(of: &declaration)
    }
  }

  /// `func ==<T>(…)`: the angle bracket is not part of the name.
  private mutating func splitOperatorName(_ declaration: inout Declaration) {
    let name = text
    guard name.utf8.count > 1, name.utf8.last == UInt8(ascii: "<"), token(1).kind == .identifier else {
      return advance()
    }
    declaration.name = String(name.dropLast())
    position.offset += name.utf8.count - 1
  }

  private mutating func parseBody(of declaration: inout Declaration) throws(ParsingError) {
    guard at("{") else { return }
    declaration.hasBody = true
    try skipGroup()
  }

  private mutating func parseTypeAlias(_ declaration: inout Declaration) throws(ParsingError) {
    declaration.name = try parseName("a type")
    declaration.genericParameters = try parseGenericParameters()
    try parseInheritance(of: &declaration)
    if current.kind == .operator, at("=") {
      advance()
      declaration.result = try parseType()
    }
    declaration.requirements = try parseRequirements()
  }

  private mutating func skipImport() throws(ParsingError) {
    if isIdentifier, token(1).kind == .identifier, !token(1).hasNewlineBefore { advance() }
    _ = try parseName("a module")
    while consume(".") {
      guard isIdentifier || current.kind == .operator else { throw error("Expected the name of a module.") }
      advance()
    }
  }

  private mutating func parseOperator(_ declaration: inout Declaration) throws(ParsingError) {
    declaration.name = text
    while current.kind == .operator || at("!") || at("?") { advance() }
    guard consume(":") else { return }
    repeat { _ = try parseName("a precedence group") } while consume(",")
  }

  // MARK: - Accessors

  private static let accessors: Set<String> = [
    "get", "set", "willSet", "didSet", "_read", "_modify", "unsafeAddress", "unsafeMutableAddress", "init",
    "borrow", "mutate",
  ]

  private mutating func parseAccessors() throws(ParsingError) -> Accessors {
    guard let partner = current.partner else { throw error("Expected '{'.") }
    defer { position = Position(index: partner + 1) }
    advance()
    var names: [String] = []
    while position.index < partner {
      var declaration = Declaration()
      do throws(ParsingError) {
        try parseAttributes(of: &declaration)
        while isIdentifier,
          ["mutating", "nonmutating", "__consuming", "consuming", "borrowing", "nonisolated"].contains(text)
        {
          advance()
        }
        guard isIdentifier, Self.accessors.contains(text) else { return names.isEmpty ? .getter : .list(names) }
        let name = text
        advance()
        if at("("), position.index < partner { try skipGroup() }
        try skipEffects()
        if at("{") {
          try skipGroup()
        } else if position.index < partner, !isIdentifier && !at("@") {
          // `get + 1` is code.
          return names.isEmpty ? .getter : .list(names)
        }
        names.append(name)
      } catch {
        return names.isEmpty ? .getter : .list(names)
      }
    }
    return names.isEmpty ? .getter : .list(names)
  }
}
