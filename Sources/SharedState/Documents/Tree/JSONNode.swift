/// One value, or one key, of a JSON document: what it is, and where its text is.
///
/// The nodes of a document are in the order of its text. An array is followed by its elements, an object by its
/// members, each a key and a value.
struct JSONNode: Sendable {
  enum Kind: UInt8, Sendable {
    case null, `false`, `true`, number, string, array, object
  }

  let kind: Kind
  /// Whether a string has to be unescaped before it can be compared.
  var hasEscapes = false
  /// Whether an object has members with the same key.
  var hasRepetitions = false
  let lower: UInt32
  var upper: UInt32
  /// The number of the node after this one and all that is in it.
  var next: UInt32
  /// The same for equal keys, see ``NameHash``; 0 for values.
  var hash: UInt32 = 0

  /// Where the text is, the quotes of a string and the brackets of a container included.
  var range: Range<Int> { Int(lower)..<Int(upper) }
}
