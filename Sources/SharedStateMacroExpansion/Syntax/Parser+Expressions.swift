extension Parser {
  /// Moves to the end of an expression.
  mutating func parseExpression() throws(ParsingError) -> Fragment {
    let start = start
    try nested { parser throws(ParsingError) in try parser.skipExpression() }
    return fragment(from: start)
  }

  private mutating func skipExpression() throws(ParsingError) {
    try skipOperand()
    while true {
      if isIdentifier {
        switch text {
        case "is":
          advance()
          _ = try parseType()
          continue
        case "as":
          advance()
          if at("?") || at("!") { advance() }
          _ = try parseType()
          continue
        case "async", "throws":
          // A function type used as a value.
          guard text(1) == "->" || text(2) == "->" else { return }
          try skipEffects()
          continue
        default:
          return
        }
      }
      if consume("->") {
        try skipOperand()
        continue
      }
      guard current.kind == .operator else { return }
      if at("?"), !current.isLeftBound {
        advance()
        _ = try parseExpression()
        try expect(":", "Expected ':' of '? :'.")
        try skipOperand()
        continue
      }
      guard position.offset > 0 || current.isLeftBound == current.isRightBound || at("=") || at("&") else { return }
      advance()
      try skipOperand()
    }
  }

  private static let prefixWords: Set<String> = [
    "try", "await", "unsafe", "consume", "copy", "borrow", "_move", "_borrow", "each", "repeat", "any", "some",
  ]

  private mutating func skipOperand() throws(ParsingError) {
    var hasPrefix = false
    while true {
      if current.kind == .operator {
        // An operator with nothing behind it is a value, or a range without an end.
        hasPrefix = true
        advance()
      } else if isIdentifier, Self.prefixWords.contains(text), isPrefixWord {
        let isTry = at("try")
        advance()
        if isTry, at("?") || at("!") { advance() }
      } else {
        break
      }
    }
    var takesClosures = true
    switch current.kind {
    case .number, .string, .regex:
      takesClosures = false
      advance()
    case .identifier:
      switch text {
      case "if": return try skipIf()
      case "switch": return try skipSwitch()
      case "do": return try skipDo()
      default:
        advance()
        try skipModuleSelector()
        skipGenericArgumentsOfExpression()
      }
    case .punctuation where at("(") || at("[") || at("{"):
      // A closure is called with parentheses, and takes no trailing closure.
      takesClosures = !at("{") && !at("[")
      try skipGroup()
    case .punctuation where at("."):
      advance()
      guard isIdentifier || current.kind == .number else { throw error("Expected the name of a member.") }
      advance()
      skipGenericArgumentsOfExpression()
    case .punctuation where at("#"):
      advance()
      _ = try parseName("a macro")
      skipGenericArgumentsOfExpression()
    case .punctuation where at("\\"):
      takesClosures = false
      advance()
      if isIdentifier {
        advance()
        skipGenericArgumentsOfExpression()
      } else if at("(") || at("[") {
        try skipGroup()
      } else if !at(".") {
        throw error("Expected a key path.")
      }
    default:
      if hasPrefix { return }
      throw error("Expected an expression.")
    }
    try skipSuffixes(takesClosures: takesClosures)
  }

  /// `copy` and the like are names, too.
  private var isPrefixWord: Bool {
    if at("try") || at("await") || at("repeat") { return true }
    let next = token(1)
    if next.hasNewlineBefore { return false }
    switch next.kind {
    case .identifier:
      return !["as", "is", "in", "where", "else"].contains(text(1))
    case .punctuation:
      // `any (P & Q)` is a type, `copy(…)` a call.
      return (at("any") || at("some") || at("unsafe") || at("each")) && ["(", "["].contains(text(1))
        && next.hasSpaceBefore
        || at("unsafe") && text(1) == "." && next.hasSpaceBefore
    case .string, .number:
      return at("unsafe")
    default:
      return false
    }
  }

  private mutating func skipSuffixes(takesClosures: Bool) throws(ParsingError) {
    var takesClosures = takesClosures
    while true {
      switch current.kind {
      case .punctuation where at("."):
        advance()
        if isIdentifier || current.kind == .number {
          advance()
          try skipModuleSelector()
          skipGenericArgumentsOfExpression()
          takesClosures = true
        } else if at("#") {
          advance()
          _ = try parseName("a macro")
        } else if !(at("?") || at("!") || at("[") || at("(")) {
          throw error("Expected the name of a member.")
        }
      case .punctuation where (at("(") || at("[")) && !current.hasNewlineBefore:
        takesClosures = true
        try skipGroup()
      case .punctuation where at("?") || at("!"):
        advance()
      case .punctuation where at("{") && takesClosures && !isStartOfObservers:
        try skipGroup()
        try skipLabelledClosures()
      case .punctuation where at("#") && text(1) == "if":
        guard try skipConditionalSuffix() else { return }
      case .operator where current.isLeftBound && !current.isRightBound && position.offset == 0 && !isAssignment:
        advance()
      default:
        return
      }
    }
  }

  private var isAssignment: Bool { at("=") || at("&") }

  /// `{ willSet … }` belongs to the property, not to its value.
  private var isStartOfObservers: Bool {
    var parser = self
    parser.advance()
    while parser.at("@") { guard (try? parser.parseAttribute()) != nil else { return false } }
    return parser.at("willSet") || parser.at("didSet")
  }

  private mutating func skipLabelledClosures() throws(ParsingError) {
    while isIdentifier, text(1) == ":", text(2) == "{" {
      advance()
      advance()
      try skipGroup()
    }
  }

  /// `#if … .member() … #endif` behind an operand; `false` when the condition encloses other code.
  private mutating func skipConditionalSuffix() throws(ParsingError) -> Bool {
    let position = position
    advance()
    advance()
    _ = try parseExpressionOfCondition()
    guard at(".") || at("#") && text(1) == "if" else {
      self.position = position
      return false
    }
    var open = 1
    while open > 0 {
      if current.kind == .end { throw error("This '#if' has no end.") }
      if at("#"), text(1) == "if" { open += 1 }
      if at("#"), text(1) == "endif" {
        open -= 1
        advance()
      }
      advance()
    }
    return true
  }

  /// The condition of `#if`, which ends with its line unless an operator continues it.
  mutating func parseExpressionOfCondition() throws(ParsingError) -> Fragment {
    let start = start
    while true {
      while current.kind == .operator { advance() }
      if at("(") { try skipGroup() } else { advance() }
      if at("("), !current.hasNewlineBefore { try skipGroup() }
      guard current.kind == .operator, !(current.hasNewlineBefore && !current.isLeftBound && current.isRightBound)
      else {
        break
      }
    }
    return fragment(from: start)
  }

  /// `<…>` behind a name, unless it is a comparison.
  private mutating func skipGenericArgumentsOfExpression() {
    guard current.kind == .operator, startsWith("<"), !current.hasNewlineBefore else { return }
    let position = position
    do throws(ParsingError) {
      try nested { parser throws(ParsingError) in try parser.skipGenericArguments() }
      if isBehindGenericArguments { return }
    } catch {
      // In this case it is a comparison.
    }
    self.position = position
  }

  private var isBehindGenericArguments: Bool {
    switch current.kind {
    case .end: true
    case .punctuation where at("(") || at("["): !current.hasNewlineBefore
    case .punctuation: !at("@") && !at("#") && !at("\\") || current.hasNewlineBefore
    case .operator where position.offset > 0: true
    case .operator where !at("&"):
      current.isLeftBound == current.isRightBound || current.isLeftBound || current.hasNewlineBefore
    default: current.hasNewlineBefore
    }
  }

  // MARK: - Statements that are values

  private mutating func skipIf() throws(ParsingError) {
    while true {
      advance()
      try skipToBlock()
      try skipGroup()
      guard consume("else") else { return }
      if at("if") { continue }
      guard at("{") else { throw error("Expected '{'.") }
      return try skipGroup()
    }
  }

  private mutating func skipSwitch() throws(ParsingError) {
    advance()
    try skipToBlock()
    try skipGroup()
  }

  private mutating func skipDo() throws(ParsingError) {
    advance()
    try skipToBlock()
    try skipGroup()
    while consume("catch") {
      try skipToBlock()
      try skipGroup()
    }
  }

  private mutating func skipToBlock() throws(ParsingError) {
    while !at("{") {
      if at("(") || at("[") {
        try skipGroup()
      } else if current.kind == .end || at("}") || at(")") || at("]") {
        throw error("Expected '{'.")
      } else {
        advance()
      }
    }
  }
}
