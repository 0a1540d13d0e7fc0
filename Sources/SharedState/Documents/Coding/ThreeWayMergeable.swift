/// A type that says how two changes of its values merge, wherever in a shared value it stands.
///
/// ``merged(base:mine:theirs:)`` is called when this service has changed the value since it was read, and another one, too;
/// once more when somebody is faster again. It runs on a thread of the store that has a stack of 2 MiB, without a lock. It
/// delays its own value only, it must not use shares, and where it traps the process ends. A value that cannot be decoded,
/// or whose merged value cannot be encoded, is replaced whole by the later commit.
public protocol ThreeWayMergeable: Codable {
  /// Merges two values that were made at the same time out of the same one. It cannot fail: of two that do not go
  /// together give one.
  ///
  /// - Parameters:
  ///   - base: What both were made of; `nil` when both are new.
  ///   - mine: The value that is about to be committed.
  ///   - theirs: The value that was committed meanwhile.
  static func merged(base: Self?, mine: Self, theirs: Self) -> Self
}

extension ThreeWayMergeable {
  static func mergeableEncoding(_ encoding: TypeEncoding) -> TypeEncoding {
    guard let own = encoding as? ValueEncoding<Self> else { return encoding }
    return MergeableEncoding(own)
  }
}

/// Writes a value as its type does, and notes how it merges.
private final class MergeableEncoding<Value: ThreeWayMergeable>: ValueEncoding<Value>, @unchecked Sendable {
  private let encoding: ValueEncoding<Value>

  init(_ encoding: ValueEncoding<Value>) {
    self.encoding = encoding
  }

  override func write(_ value: Value, key: (any CodingKey)?, to writer: DocumentWriter) throws {
    let forms = writer.forms
    if let forms { forms.append(.mergeable(Self.merge(forms.coders)), at: writer.text.count) }
    // It merges as a whole, so that nobody asks what is known of its parts.
    writer.forms = nil
    defer { writer.forms = forms }
    try encoding.write(value, key: key, to: writer)
  }

  private static func merge(_ coders: FormCoders) -> @Sendable (MergeableValues) -> MergedValue? {
    // The conformance is that which the value was just written with.
    nonisolated(unsafe) let merge = { (values: MergeableValues) -> MergedValue? in
      func read(_ value: MergeableValues.Value) -> Value? {
        try? coders.decoder.decode(Value.self, at: value.node, of: value.document) as? Value
      }
      guard let mine = read(values.mine), let theirs = read(values.theirs) else { return nil }
      let base = values.base.flatMap(read)
      guard base != nil || values.base == nil else { return nil }
      func text(_ value: Value) -> [UInt8]? { try? coders.encoder.text(of: value) }
      guard let theirText = text(theirs) else { return nil }
      // They have what mine was made of, so that there is nothing to be merged with.
      if let base, text(base) == theirText { return text(mine).map { MergedValue(theirs: theirText, merged: $0) } }
      let merged = Value.merged(base: base, mine: mine, theirs: theirs)
      return text(merged).map { MergedValue(theirs: theirText, merged: $0) }
    }
    return { merge($0) }
  }
}

/// What comes of a field, an entry or an element that one service removes while another one changes it.
public enum RemovalPolicy: Hashable, Sendable, CaseIterable {
  /// What the later commit did, as where both changed it.
  case laterWins
  /// It stays, with the change: for carts.
  case changeWins
  /// It goes: for revocations.
  case removalWins
}
