extension Place: CustomStringConvertible {
  /// How the share is made: the key, or the value that no key keeps, and the way from there to this part.
  @usableFromInline
  package var description: String { reference.description + partText }

  /// The way from the value of the reference to this part, as Swift code that derives it; empty for the whole value.
  var partText: String { accessor?.text ?? path?.text ?? "" }

  /// Tells this part from others, as long as a share of it lives.
  var identity: ObjectIdentifier {
    accessor.map { ObjectIdentifier($0) } ?? path.map { ObjectIdentifier($0) } ?? ObjectIdentifier(reference)
  }
}
