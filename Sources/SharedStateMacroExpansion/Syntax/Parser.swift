/// An error in a source, with its offset.
struct ParsingError: Error, Equatable {
  let message: String
  /// In bytes.
  let offset: Int
}

/// Parses a declaration. It knows the grammar of all that may stand in the block of a type. It skips code between
/// braces, and of expressions it finds only the end.
struct Parser {
  /// The maximum nesting of types and declarations.
  static let maximumDepth = 128

  /// A token, or the rest of a token behind an offset: `>>` may close two lists.
  struct Position: Equatable {
    var index = 0
    var offset = 0
  }

  let source: Source
  var position = Position()
  private var depth = 0

  private init(finished text: String) throws(ParsingError) {
    source = Source(text)
    // Code is copied, so an unclosed literal in it would swallow the code behind it.
    if let token = source.tokens.first(where: \.isUnfinished) {
      let what = token.kind == .unknown ? "name" : "literal"
      throw ParsingError(message: "This \(what) is never closed.", offset: token.range.lowerBound)
    }
    for token in source.tokens where token.kind == .punctuation && token.partner == nil {
      guard "()[]{}".contains(source.text(token.range)) else { continue }
      throw ParsingError(message: "This bracket is alone.", offset: token.range.lowerBound)
    }
  }

  /// The only declaration of a source.
  static func declaration(in text: String) throws(ParsingError) -> Declaration {
    var parser = try Parser(finished: text)
    let declaration = try parser.parseDeclaration()
    _ = parser.consume(";")
    guard parser.current.kind == .end else { throw parser.error("Unexpected text behind the declaration.") }
    return declaration
  }

  /// A declaration without its block, as in a lexical context.
  static func header(in text: String) throws(ParsingError) -> Declaration {
    var parser = try Parser(finished: text)
    return try parser.parseDeclaration()
  }

  /// A type, if it is that of a closure.
  static func functionType(in text: String) -> FunctionType? {
    guard var parser = try? Parser(finished: text), let type = try? parser.parseFunctionType(),
      parser.current.kind == .end
    else { return nil }
    return type
  }

  // MARK: - Tokens

  var current: Token {
    source.tokens[min(position.index, source.tokens.count - 1)]
  }

  func token(_ distance: Int) -> Token {
    source.tokens[min(position.index + distance, source.tokens.count - 1)]
  }

  /// The rest of the current token.
  var text: String {
    let range = current.range
    return source.text(min(range.lowerBound + position.offset, range.upperBound)..<range.upperBound)
  }

  func text(_ distance: Int) -> String {
    distance == 0 ? text : source.text(token(distance).range)
  }

  /// The first byte that is not consumed yet.
  var start: Int {
    current.range.lowerBound + position.offset
  }

  /// The end of the consumed text.
  var end: Int {
    if position.offset > 0 { return start }
    return position.index == 0 ? 0 : source.tokens[position.index - 1].range.upperBound
  }

  func fragment(from start: Int) -> Fragment {
    Fragment(source: source, range: min(start, end)..<end)
  }

  func error(_ message: String) -> ParsingError {
    ParsingError(message: message, offset: start)
  }

  mutating func advance() {
    if position.index < source.tokens.count - 1 { position = Position(index: position.index + 1) }
  }

  /// Whether the current token is this sign or word.
  func at(_ text: StaticString) -> Bool {
    let range = current.range
    let start = range.lowerBound + position.offset
    guard range.upperBound - start == text.utf8CodeUnitCount else { return false }
    return startsWith(text)
  }

  /// Whether an operator begins with this text. A sign that is not an operator has to match as a whole.
  func startsWith(_ text: StaticString) -> Bool {
    let range = current.range
    let start = range.lowerBound + position.offset
    guard current.kind != .string, current.kind != .regex, range.upperBound - start >= text.utf8CodeUnitCount else {
      return false
    }
    return text.withUTF8Buffer { text in text.indices.allSatisfy { source.bytes[start + $0] == text[$0] } }
  }

  mutating func consume(_ text: StaticString) -> Bool {
    guard at(text) else { return false }
    advance()
    return true
  }

  /// Consumes the beginning of an operator.
  mutating func consumePrefix(_ text: StaticString) -> Bool {
    guard current.kind == .operator || current.kind == .punctuation, startsWith(text) else { return false }
    position.offset += text.utf8CodeUnitCount
    if position.offset >= current.range.count { advance() }
    return true
  }

  mutating func expect(_ text: StaticString, _ message: String) throws(ParsingError) {
    guard consume(text) else { throw error(message) }
  }

  var isIdentifier: Bool { current.kind == .identifier }

  /// A name as it is written.
  mutating func parseName(_ what: String) throws(ParsingError) -> String {
    guard isIdentifier else { throw error("Expected the name of \(what).") }
    let name = text
    advance()
    return name
  }

  /// Moves behind the bracket that closes the current one.
  mutating func skipGroup() throws(ParsingError) {
    guard let partner = current.partner, partner > position.index else {
      throw error("Expected a bracket that is closed.")
    }
    position = Position(index: partner + 1)
  }

  mutating func nested<Result>(
    _ body: (inout Self) throws(ParsingError) -> Result
  ) throws(ParsingError) -> Result {
    guard depth < Self.maximumDepth else { throw error("This is nested too deeply.") }
    depth += 1
    defer { depth -= 1 }
    return try body(&self)
  }
}
