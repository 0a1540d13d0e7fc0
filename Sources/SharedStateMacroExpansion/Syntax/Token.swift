/// The smallest part of a source text that has a meaning.
struct Token: Sendable {
  enum Kind: Sendable {
    /// A name or a keyword, also one between backticks.
    case identifier
    case number
    case string
    case regex
    case `operator`
    /// One of `( ) [ ] { } , ; : . @ # \ ->` and, at the end of an operand, `?` or `!`.
    case punctuation
    /// A character that no Swift source contains outside of literals and comments.
    case unknown
    case end
  }

  let kind: Kind
  /// Its range in the source, in bytes.
  let range: Range<Int>
  /// Whether white space or a comment stands in front of it.
  var hasSpaceBefore: Bool
  var hasNewlineBefore: Bool
  /// Whether a character other than white space touches it, by the rules for operators.
  var isLeftBound = false
  var isRightBound = false
  /// A literal, or a name between backticks, whose end is missing.
  var isUnfinished = false
  /// The token that closes this bracket, or opens it.
  var partner: Int?
}
