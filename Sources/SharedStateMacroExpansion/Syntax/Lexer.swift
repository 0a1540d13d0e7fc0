/// Divides a source text into tokens, by the rules of Swift. Every text has tokens; together with white space and
/// comments they make up the whole text.
struct Lexer {
  /// The maximum nesting of literals in each other's interpolations.
  static let maximumDepth = 32

  private let bytes: [UInt8]
  private var position: Int
  private let depth: Int
  private var tokens: [Token] = []

  private init(_ bytes: [UInt8], from position: Int = 0, depth: Int = 0) {
    self.bytes = bytes
    self.position = position
    self.depth = depth
  }

  /// The tokens of the text, with one at its end. Brackets know their partners.
  static func tokens(of bytes: [UInt8]) -> [Token] {
    var lexer = Lexer(bytes)
    lexer.readTokens()
    lexer.joinBrackets()
    return lexer.tokens
  }

  private subscript(_ index: Int) -> UInt8? {
    index >= 0 && index < bytes.count ? bytes[index] : nil
  }

  private func has(_ text: StaticString, at index: Int) -> Bool {
    guard index >= 0, index + text.utf8CodeUnitCount <= bytes.count else { return false }
    return text.withUTF8Buffer { text in text.indices.allSatisfy { text[$0] == bytes[index + $0] } }
  }

  // MARK: - All tokens

  private mutating func readTokens() {
    while true {
      let (hasSpace, hasNewline) = skipTrivia()
      var token = readToken(isFirst: tokens.isEmpty || hasSpace)
      token.hasSpaceBefore = hasSpace || tokens.isEmpty
      token.hasNewlineBefore = hasNewline || tokens.isEmpty
      tokens.append(token)
      if token.kind == .end { return }
    }
  }

  /// Reads up to and including the parenthesis that closes an interpolation; `false` when there is none.
  private mutating func readInterpolation() -> Bool {
    var open = 1
    while true {
      let (hasSpace, _) = skipTrivia()
      let token = readToken(isFirst: tokens.isEmpty || hasSpace)
      tokens.append(token)
      if token.isUnfinished { return false }
      switch token.kind {
      case .end: return false
      case .punctuation where bytes[token.range.lowerBound] == UInt8(ascii: "("): open += 1
      case .punctuation where bytes[token.range.lowerBound] == UInt8(ascii: ")"):
        open -= 1
        if open == 0 { return true }
      default: break
      }
    }
  }

  private mutating func joinBrackets() {
    var open: [Int] = []
    for index in tokens.indices where tokens[index].kind == .punctuation {
      let byte = bytes[tokens[index].range.lowerBound]
      switch byte {
      case UInt8(ascii: "("), UInt8(ascii: "["), UInt8(ascii: "{"):
        open.append(index)
      case UInt8(ascii: ")"), UInt8(ascii: "]"), UInt8(ascii: "}"):
        // A missing bracket must not assign wrong partners to all later brackets.
        guard let match = open.lastIndex(where: { closes(byte, tokens[$0]) }) else { continue }
        tokens[open[match]].partner = index
        tokens[index].partner = open[match]
        open.removeSubrange(match...)
      default:
        break
      }
    }
  }

  private func closes(_ closing: UInt8, _ opening: Token) -> Bool {
    switch bytes[opening.range.lowerBound] {
    case UInt8(ascii: "("): closing == UInt8(ascii: ")")
    case UInt8(ascii: "["): closing == UInt8(ascii: "]")
    default: closing == UInt8(ascii: "}")
    }
  }

  // MARK: - White space and comments

  private mutating func skipTrivia() -> (hasSpace: Bool, hasNewline: Bool) {
    let start = position
    var hasNewline = false
    while let byte = self[position] {
      switch byte {
      case UInt8(ascii: "\n"), UInt8(ascii: "\r"):
        hasNewline = true
        position += 1
      case UInt8(ascii: " "), UInt8(ascii: "\t"), 0x0B, 0x0C, 0:
        position += 1
      case 0xEF where has("\u{FEFF}", at: position):
        position += 3
      case UInt8(ascii: "/") where self[position + 1] == UInt8(ascii: "/"):
        skipLine()
      case UInt8(ascii: "/") where self[position + 1] == UInt8(ascii: "*"):
        if skipComment() { hasNewline = true }
      case UInt8(ascii: "#") where position == 0 && self[1] == UInt8(ascii: "!"):
        skipLine()
      default:
        return (position > start, hasNewline)
      }
    }
    return (position > start, hasNewline)
  }

  private mutating func skipLine() {
    while let byte = self[position], byte != UInt8(ascii: "\n"), byte != UInt8(ascii: "\r") { position += 1 }
  }

  /// Whether the comment spans several lines.
  private mutating func skipComment() -> Bool {
    var depth = 0
    var hasNewline = false
    repeat {
      if has("/*", at: position) {
        depth += 1
        position += 2
      } else if has("*/", at: position) {
        depth -= 1
        position += 2
      } else {
        if self[position] == UInt8(ascii: "\n") || self[position] == UInt8(ascii: "\r") { hasNewline = true }
        position += 1
      }
    } while depth > 0 && position < bytes.count
    return hasNewline
  }

  // MARK: - One token

  private mutating func readToken(isFirst: Bool) -> Token {
    let start = position
    guard let byte = self[position] else { return token(.end, from: start) }
    switch byte {
    case UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: "{"),
      UInt8(ascii: "}"), UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: ":"), UInt8(ascii: "@"),
      UInt8(ascii: "\\"):
      position += 1
      return token(.punctuation, from: start)
    case UInt8(ascii: "#"):
      return readSharp()
    case UInt8(ascii: "\""):
      return readString(marks: 0)
    case UInt8(ascii: "`"):
      return readEscapedIdentifier()
    case UInt8(ascii: "0")...UInt8(ascii: "9"):
      return readNumber()
    case UInt8(ascii: "!"), UInt8(ascii: "?"):
      guard isLeftBound(start) else { return readOperator() }
      position += 1
      return token(.punctuation, from: start)
    case UInt8(ascii: "."):
      if isOperatorWithDot(start) { return readOperator() }
      position += 1
      return token(.punctuation, from: start)
    case UInt8(ascii: "/"):
      return readRegex() ?? readOperator()
    default:
      break
    }
    if Self.isOperatorCharacter(byte) { return readOperator() }
    let scalar = scalar(at: position)
    if scalar.isOperatorStart { return readOperator() }
    if scalar.isIdentifierStart { return readIdentifier() }
    position += scalar.length
    return token(.unknown, from: start)
  }

  private func token(_ kind: Token.Kind, from start: Int) -> Token {
    let end = min(position, bytes.count)
    return Token(kind: kind, range: min(start, end)..<end, hasSpaceBefore: false, hasNewlineBefore: false)
  }

  private mutating func readIdentifier() -> Token {
    let start = position
    while position < bytes.count {
      let scalar = scalar(at: position)
      guard scalar.isIdentifierPart else { break }
      position += scalar.length
    }
    return token(.identifier, from: start)
  }

  private mutating func readEscapedIdentifier() -> Token {
    let start = position
    position += 1
    // A name between backticks may contain nearly every visible character.
    while let byte = self[position], byte >= 0x20, byte != 0x7F, byte != UInt8(ascii: "\\") {
      position += 1
      if byte == UInt8(ascii: "`") {
        return token(position - start > 2 ? .identifier : .unknown, from: start)
      }
    }
    return unfinished(.unknown, from: start)
  }

  private mutating func readNumber() -> Token {
    let start = position
    func skipDigits() {
      while let byte = self[position], Self.isAlphanumeric(byte) { position += 1 }
    }
    func skipExponent(_ letter: UInt8) {
      // The sign of an exponent is part of the number.
      guard let last = self[position - 1], last | 0x20 == letter,
        self[position] == UInt8(ascii: "-") || self[position] == UInt8(ascii: "+"),
        let digit = self[position + 1], Self.isDigit(digit)
      else { return }
      position += 1
      skipDigits()
    }
    let isHexadecimal = has("0x", at: position) || has("0X", at: position)
    let letter = UInt8(ascii: isHexadecimal ? "p" : "e")
    skipDigits()
    // In `pair.0.1` each number is a member.
    let isMember =
      tokens.last.map {
        $0.range.upperBound == start && bytes[$0.range.lowerBound] == UInt8(ascii: ".") && $0.range.count == 1
      } ?? false
    if isMember { return token(.number, from: start) }
    skipExponent(letter)
    if self[position] == UInt8(ascii: "."), let next = self[position + 1],
      isHexadecimal ? Self.isHexadecimalDigit(next) && hasExponent(behind: position + 1) : Self.isDigit(next)
    {
      position += 1
      skipDigits()
      skipExponent(letter)
    }
    return token(.number, from: start)
  }

  /// A fraction of hexadecimal digits requires an exponent: `0x1.description` has none.
  private func hasExponent(behind start: Int) -> Bool {
    var index = start
    while let byte = self[index], Self.isHexadecimalDigit(byte) || byte == UInt8(ascii: "_") { index += 1 }
    return self[index].map { $0 | 0x20 == UInt8(ascii: "p") } ?? false
  }

  private mutating func readSharp() -> Token {
    let start = position
    var index = position
    while self[index] == UInt8(ascii: "#") { index += 1 }
    if self[index] == UInt8(ascii: "\"") {
      position = index
      return readString(marks: index - start)
    }
    if self[index] == UInt8(ascii: "/"), let token = readExtendedRegex(marks: index - start) { return token }
    position += 1
    return token(.punctuation, from: start)
  }

  // MARK: - Operators

  private mutating func readOperator() -> Token {
    let start = position
    let startsWithDot = self[start] == UInt8(ascii: ".")
    while let byte = self[position] {
      if has("//", at: position) || has("/*", at: position), position > start { break }
      if Self.isOperatorCharacter(byte) || byte == UInt8(ascii: ".") && startsWithDot {
        position += 1
      } else if byte >= 0x80 {
        let scalar = scalar(at: position)
        guard scalar.isOperatorPart else { break }
        position += scalar.length
      } else {
        break
      }
    }
    let isArrow = position - start == 2 && has("->", at: start)
    var token = token(isArrow ? .punctuation : .operator, from: start)
    token.isLeftBound = isLeftBound(start)
    token.isRightBound = isRightBound(position, isLeftBound: token.isLeftBound)
    return token
  }

  private func isOperatorWithDot(_ start: Int) -> Bool {
    switch self[start + 1] {
    case UInt8(ascii: "?"), UInt8(ascii: "!"):
      // `\.?.name` is a key path through an optional, not an operator.
      !isLeftBound(start)
    case UInt8(ascii: "/"):
      // A comment may stand behind a dot.
      self[start + 2] != UInt8(ascii: "/") && self[start + 2] != UInt8(ascii: "*")
    case let next?:
      Self.isOperatorCharacter(next) || next == UInt8(ascii: ".")
    case nil:
      false
    }
  }

  private func isLeftBound(_ start: Int) -> Bool {
    guard let byte = self[start - 1] else { return false }
    switch byte {
    case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"), 0x0B, 0x0C, 0,
      UInt8(ascii: "("), UInt8(ascii: "["), UInt8(ascii: "{"), UInt8(ascii: ","), UInt8(ascii: ";"),
      UInt8(ascii: ":"):
      return false
    case UInt8(ascii: "/"):
      // The end of a comment is white space; a slash of an operator is not.
      return tokens.last.map { $0.range.upperBound == start } ?? false
    default:
      return !has("\u{FEFF}", at: start - 3)
    }
  }

  private func isRightBound(_ end: Int, isLeftBound: Bool) -> Bool {
    guard let byte = self[end] else { return false }
    switch byte {
    case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"), 0x0B, 0x0C, 0,
      UInt8(ascii: ")"), UInt8(ascii: "]"), UInt8(ascii: "}"), UInt8(ascii: ","), UInt8(ascii: ";"),
      UInt8(ascii: ":"):
      return false
    case UInt8(ascii: "."):
      return !isLeftBound
    case UInt8(ascii: "/"):
      return !has("//", at: end) && !has("/*", at: end)
    default:
      return true
    }
  }

  // MARK: - Strings

  private mutating func readString(marks: Int) -> Token {
    let start = position - marks
    let isMultiline = has("\"\"\"", at: position) && !endsOnThisLine(from: position + 3, marks: marks)
    position += isMultiline ? 3 : 1
    while let byte = self[position] {
      switch byte {
      case UInt8(ascii: "\n") where !isMultiline, UInt8(ascii: "\r") where !isMultiline:
        return unfinished(.string, from: start)
      case UInt8(ascii: "\""):
        if isMultiline && !has("\"\"\"", at: position) {
          position += 1
          continue
        }
        let quotes = isMultiline ? 3 : 1
        if hasMarks(marks, at: position + quotes) {
          position += quotes + marks
          return token(.string, from: start)
        }
        position += 1
      case UInt8(ascii: "\\") where hasMarks(marks, at: position + 1):
        position += 1 + marks
        if self[position] == UInt8(ascii: "(") {
          guard depth < Self.maximumDepth else { return unfinished(.string, from: start) }
          var inner = Lexer(bytes, from: position + 1, depth: depth + 1)
          let isFinished = inner.readInterpolation()
          position = inner.position
          if !isFinished { return unfinished(.string, from: start) }
        } else if let next = self[position], next != UInt8(ascii: "\n"), next != UInt8(ascii: "\r") {
          position += 1
        }
      default:
        position += 1
      }
    }
    return unfinished(.string, from: start)
  }

  private func unfinished(_ kind: Token.Kind, from start: Int) -> Token {
    var token = token(kind, from: start)
    token.isUnfinished = true
    return token
  }

  private func hasMarks(_ count: Int, at index: Int) -> Bool {
    (0..<count).allSatisfy { self[index + $0] == UInt8(ascii: "#") }
  }

  /// `#"""#` is a string of one quotation mark.
  private func endsOnThisLine(from index: Int, marks: Int) -> Bool {
    guard marks > 0 else { return false }
    // The third mark may be the closing one.
    var index = index - 1
    while let byte = self[index], byte != UInt8(ascii: "\n"), byte != UInt8(ascii: "\r") {
      if byte == UInt8(ascii: "\""), hasMarks(marks, at: index + 1) { return true }
      index += 1
    }
    return false
  }

  // MARK: - Regular expressions

  /// `/…/` on one line, where an operand may begin.
  private mutating func readRegex() -> Token? {
    let start = position
    guard !isLeftBound(start) || isBehindPrefixOperator(start), let first = self[start + 1],
      first != UInt8(ascii: " "), first != UInt8(ascii: "\t"), first != UInt8(ascii: "/"), first != UInt8(ascii: "*")
    else { return nil }
    var index = start + 1
    var open = 0
    var classes = 0
    while let byte = self[index], byte != UInt8(ascii: "\n"), byte != UInt8(ascii: "\r") {
      switch byte {
      case UInt8(ascii: "/"):
        guard self[index - 1] != UInt8(ascii: " "), self[index - 1] != UInt8(ascii: "\t") else { return nil }
        position = index + 1
        return token(.regex, from: start)
      case UInt8(ascii: "\\"):
        index += 1
      case UInt8(ascii: "["):
        classes += 1
      case UInt8(ascii: "]"):
        classes = max(0, classes - 1)
      case UInt8(ascii: "(") where classes == 0:
        open += 1
      case UInt8(ascii: ")") where classes == 0:
        // `(/a, b/)` has two operators.
        open -= 1
        if open < 0 { return nil }
      default:
        break
      }
      index += 1
    }
    return nil
  }

  private func isBehindPrefixOperator(_ start: Int) -> Bool {
    guard let last = tokens.last, last.range.upperBound == start else { return false }
    return last.kind == .operator && !last.isLeftBound
  }

  /// `#/…/#`, over several lines when nothing follows the opening on its line.
  private mutating func readExtendedRegex(marks: Int) -> Token? {
    let start = position
    var index = start + marks + 1
    var isMultiline = false
    var look = index
    while let byte = self[look], byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") { look += 1 }
    if let byte = self[look], byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") { isMultiline = true }
    while let byte = self[index] {
      switch byte {
      case UInt8(ascii: "\n") where !isMultiline, UInt8(ascii: "\r") where !isMultiline:
        return nil
      case UInt8(ascii: "\\"):
        index += 2
      case UInt8(ascii: "/") where hasMarks(marks, at: index + 1):
        position = index + 1 + marks
        return token(.regex, from: start)
      default:
        index += 1
      }
    }
    return nil
  }

  // MARK: - Characters

  private func scalar(at index: Int) -> Scalar {
    Scalar(bytes, at: index)
  }

  static func isOperatorCharacter(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "/"), UInt8(ascii: "="), UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "*"),
      UInt8(ascii: "%"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "!"), UInt8(ascii: "&"),
      UInt8(ascii: "|"), UInt8(ascii: "^"), UInt8(ascii: "~"), UInt8(ascii: "?"):
      true
    default:
      false
    }
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
  }

  private static func isHexadecimalDigit(_ byte: UInt8) -> Bool {
    isDigit(byte) || UInt8(ascii: "a")...UInt8(ascii: "f") ~= byte | 0x20
  }

  private static func isAlphanumeric(_ byte: UInt8) -> Bool {
    isDigit(byte) || UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20 || byte == UInt8(ascii: "_")
  }
}
