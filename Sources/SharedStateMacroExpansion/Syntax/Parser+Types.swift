extension Parser {
  private static let specifiers: Set<String> = [
    "inout", "borrowing", "consuming", "sending", "isolated", "nonisolated", "__owned", "__shared", "_const", "some",
    "any", "repeat", "each",
  ]

  mutating func parseType() throws(ParsingError) -> Fragment {
    let start = start
    try nested { parser throws(ParsingError) in try parser.skipType() }
    return fragment(from: start)
  }

  private mutating func skipType() throws(ParsingError) {
    try skipAttributesAndSpecifiers()
    try skipSimpleType()
    while startsWith("&"), current.kind == .operator {
      _ = consumePrefix("&")
      // `any P & ~Copyable` has one operator token, or two.
      try skipSimpleType()
    }
    try skipArrow()
  }

  private mutating func skipAttributesAndSpecifiers() throws(ParsingError) {
    while true {
      if at("@") {
        _ = try parseAttribute(isOfType: true)
      } else if isSpecifier {
        advance()
        if at("("), text(1) == "nonsending" { try skipGroup() }
      } else {
        break
      }
    }
  }

  private var isSpecifier: Bool {
    guard isIdentifier, Self.specifiers.contains(text) else { return false }
    let next = token(1)
    return next.kind == .identifier || ["(", "[", "@", "~"].contains(text(1)) && next.hasSpaceBefore
      || text == "nonisolated" && text(1) == "("
  }

  /// `async throws(Failure) -> Result`, when there is an arrow.
  private mutating func skipArrow() throws(ParsingError) {
    let position = position
    try skipEffects()
    if consume("->") {
      _ = try parseType()
    } else {
      self.position = position
    }
  }

  mutating func skipEffects() throws(ParsingError) {
    while isIdentifier, ["async", "reasync", "throws", "rethrows"].contains(text) {
      let isThrows = at("throws")
      advance()
      if isThrows, at("(") { try skipGroup() }
    }
  }

  /// `nil`: the type is another one.
  mutating func parseFunctionType() throws(ParsingError) -> FunctionType? {
    try nested { parser throws(ParsingError) in try parser.parseFunctionTypeHere() }
  }

  private mutating func parseFunctionTypeHere() throws(ParsingError) -> FunctionType? {
    let start = start
    try skipAttributesAndSpecifiers()
    let prefix = fragment(from: start).text
    guard at("(") else { return nil }
    let list = position
    try skipGroup()
    let effectsStart = self.start
    let failure = try parseEffects()
    let effects = effectsStart == self.start ? "" : fragment(from: effectsStart).text
    guard consume("->") else {
      guard prefix.isEmpty, effects.isEmpty else { return nil }
      let behind = position
      position = list
      advance()
      guard let type = try parseFunctionType(), at(")"), position.index + 1 == behind.index else { return nil }
      position = behind
      return type
    }
    let result = position
    position = list
    let parameters = try parseParameters()
    position = result
    return FunctionType(
      prefix: prefix,
      parameters: parameters,
      effects: effects,
      failure: failure,
      result: try parseType().text
    )
  }

  private mutating func parseEffects() throws(ParsingError) -> FunctionType.Failure {
    var failure = FunctionType.Failure.never
    while isIdentifier, ["async", "throws"].contains(text) {
      let isThrows = at("throws")
      advance()
      guard isThrows else { continue }
      failure = at("(") ? .typed : .any
      if at("(") { try skipGroup() }
    }
    return failure
  }

  private mutating func skipSimpleType() throws(ParsingError) {
    while current.kind == .operator, startsWith("~") { _ = consumePrefix("~") }
    while isIdentifier, Self.specifiers.contains(text), token(1).kind == .identifier { advance() }
    if at("(") || at("[") {
      try skipGroup()
    } else if at("@") {
      _ = try parseAttribute(isOfType: true)
      try skipSimpleType()
      return
    } else if isIdentifier {
      advance()
      try skipModuleSelector()
      try skipGenericArguments()
    } else {
      throw error("Expected a type.")
    }
    while true {
      if at("."), token(1).kind == .identifier {
        advance()
        advance()
        try skipGenericArguments()
      } else if startsWith("?") || startsWith("!") {
        // An operator that only begins like this is not part of the type, except behind `>`.
        guard position.offset > 0 || at("?") || at("!") else { return }
        guard current.kind == .punctuation || position.offset > 0 else { return }
        position.offset += 1
        if position.offset >= current.range.count { advance() }
      } else {
        return
      }
    }
  }

  /// `Module::Name`.
  mutating func skipModuleSelector() throws(ParsingError) {
    while at(":"), text(1) == ":", token(1).range.lowerBound == current.range.upperBound,
      token(2).kind == .identifier
    {
      advance()
      advance()
      advance()
    }
  }

  mutating func skipGenericArguments() throws(ParsingError) {
    guard current.kind == .operator, startsWith("<") else { return }
    _ = consumePrefix("<")
    if consumePrefix(">") { return }
    while true {
      if current.kind == .number || current.kind == .string {
        advance()
      } else if at("-"), token(1).kind == .number {
        advance()
        advance()
      } else {
        _ = try parseType()
      }
      // `let count: Int` and the `…` of a pack need no further handling.
      if consume(",") { continue }
      guard consumePrefix(">") else { throw error("Expected ',' or '>'.") }
      return
    }
  }

  mutating func parseGenericParameters() throws(ParsingError) -> [GenericParameter] {
    guard current.kind == .operator, startsWith("<") else { return [] }
    _ = consumePrefix("<")
    var parameters: [GenericParameter] = []
    while !startsWith(">") {
      let start = start
      while at("@") { _ = try parseAttribute() }
      if isIdentifier, ["each", "let", "repeat"].contains(text), token(1).kind == .identifier { advance() }
      let name = try parseName("a generic parameter")
      var constraint: Fragment?
      if consume(":") { constraint = try parseType() }
      if current.kind == .operator, at("=") {
        advance()
        _ = try parseType()
      }
      parameters.append(GenericParameter(name: name, fragment: fragment(from: start), constraint: constraint))
      guard consume(",") else { break }
    }
    guard consumePrefix(">") else { throw error("Expected ',' or '>'.") }
    return parameters
  }

  mutating func parseRequirements() throws(ParsingError) -> [Fragment] {
    guard at("where") else { return [] }
    advance()
    var requirements: [Fragment] = []
    repeat {
      let start = start
      _ = try parseType()
      if consume(":") {
        _ = try parseType()
        // A layout: `T: _Trivial(64)`.
        if at("("), !current.hasSpaceBefore { try skipGroup() }
      } else if consumePrefix("==") {
        if current.kind == .number { advance() } else { _ = try parseType() }
      } else {
        throw error("Expected ':' or '=='.")
      }
      requirements.append(fragment(from: start))
    } while consume(",")
    return requirements
  }

  /// Attributes that never take arguments, even when a parenthesis stands behind them.
  private static let attributesWithoutArguments: Set<String> = [
    "escaping", "autoclosure", "Sendable", "noescape", "unchecked", "concurrent", "retroactive", "preconcurrency",
    "nonescapable", "noDerivative",
  ]

  mutating func parseAttribute(isOfType: Bool = false, isConditional: Bool = false) throws(ParsingError) -> Attribute {
    let start = start
    advance()
    let nameStart = self.start
    var baseName = try parseName("an attribute")
    while true {
      try skipModuleSelector()
      try skipGenericArguments()
      guard at("."), token(1).kind == .identifier else { break }
      advance()
      baseName = text
      advance()
    }
    let name = fragment(from: nameStart)
    var arguments: Fragment?
    if at("("), !current.hasSpaceBefore, !(isOfType && Self.attributesWithoutArguments.contains(baseName)) {
      let start = self.start
      try skipGroup()
      arguments = fragment(from: start)
    }
    return Attribute(
      name: name,
      baseName: baseName,
      arguments: arguments,
      fragment: fragment(from: start),
      isConditional: isConditional
    )
  }
}
