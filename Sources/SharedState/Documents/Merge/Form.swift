/// The identity of a key or an element in its collection, as its type defines it.
package struct Identity: Hashable, Sendable {
  // A key or an `id` need not be `Sendable`. This is a copy that is never changed, only compared and hashed.
  nonisolated(unsafe) private let value: AnyHashable
  /// Different identities nearly always have different hashes, which are faster to compare.
  private let hash: Int

  /// Takes the key of a dictionary, the `id` of an element of a list, or an element of a set.
  package init(_ value: some Hashable) {
    self.value = AnyHashable(value)
    hash = value.hashValue
  }

  package static func == (one: Self, other: Self) -> Bool {
    one.hash == other.hash && one.value == other.value
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(hash)
  }
}

/// A key or an element of any document, as its type reads it.
package struct Reading: Sendable {
  package let identity: Identity
  /// The JSON that this library's encoder writes for it, by which dictionaries and sets are sorted; empty for elements
  /// of lists, which need no such order.
  package let text: [UInt8]

  /// Takes the identity that a type has read, and the text that it would write.
  package init(identity: Identity, text: [UInt8] = []) {
    self.identity = identity
    self.text = text
  }
}

/// Reads the keys of a dictionary that is stored as an object.
package struct MapForm: Sendable {
  /// Reads the key with this number; `nil` when it is no key of the type.
  package let read: @Sendable (JSONDocument, Int) -> Reading?

  /// Takes the function that reads a key.
  package init(read: @escaping @Sendable (JSONDocument, Int) -> Reading?) {
    self.read = read
  }
}

/// Reads the elements of a set, or of a list whose elements have identities.
package struct ElementForm: Sendable {
  /// The identities of the elements of this array, in its order.
  package let identities: [Identity]
  /// Reads the element with this number, of any document; `nil` when it does not decode here.
  package let read: @Sendable (JSONDocument, Int) -> Reading?

  /// Takes the identities of an array's elements, and the function that reads those of another one.
  package init(identities: [Identity], read: @escaping @Sendable (JSONDocument, Int) -> Reading?) {
    self.identities = identities
    self.read = read
  }

  /// Whether the identities of an array's elements can be read from the document. They cannot when an `id` is made
  /// again whenever an element is decoded, is not encoded, or is the address of an object.
  func isRead(in document: JSONDocument, _ array: Int) -> Bool {
    identities.first.map { read(document, array + 1)?.identity == $0 } ?? true
  }
}

/// A value of a type with a merge of its own, in the three documents; base may lack it.
package struct MergeableValues: Sendable {
  /// A document, and the number of the value in it.
  package typealias Value = (document: JSONDocument, node: Int)

  package let base: Value?
  package let mine: Value
  package let theirs: Value

  /// Takes the three values.
  package init(base: Value?, mine: Value, theirs: Value) {
    self.base = base
    self.mine = mine
    self.theirs = theirs
  }
}

/// A type's knowledge of a value, beyond its JSON.
///
/// Without a form an object is a struct, which has the members that it writes, and any other value is a leaf.
package enum Form: Sendable {
  /// A dictionary that is stored as an object.
  case map(MapForm)
  /// An array that stands for a set.
  case set(ElementForm)
  /// An array whose elements have identities.
  case list(ElementForm)
  /// An enum with a payload: an object whose only member is the case.
  case enumeration
  /// An object that is replaced as a whole: an enum that writes its cases as members of one object.
  case leaf
  /// A value with a merge of its own: the closure returns the merged value, or `nil` when it cannot read one of the
  /// three.
  ///
  /// It is called when both sides have changed or added the value, on the thread that merges and at most once for each
  /// value. A value that both sides have added has no base.
  case mergeable(@Sendable (MergeableValues) -> MergedValue?)
}

/// The result of a type's own merge of two values, as JSON.
package struct MergedValue: Sendable {
  /// Their value, as the type writes it.
  package let theirs: [UInt8]
  package let merged: [UInt8]

  /// Takes both.
  package init(theirs: [UInt8], merged: [UInt8]) {
    self.theirs = theirs
    self.merged = merged
  }
}
