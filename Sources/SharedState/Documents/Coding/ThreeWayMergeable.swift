/// A type that defines how two changes of its values merge, anywhere in a shared value.
///
/// ``merged(base:mine:theirs:)`` is called when both this service and another one have changed the value since it was
/// read; it is called again when yet another change comes first. It runs on a thread of the store that has a stack of 2
/// MiB, without a lock. It delays only its own value, must not use shares, and ends the process if it traps. A value
/// that cannot be decoded, or whose merged value cannot be encoded, is replaced as a whole by the later commit.
public protocol ThreeWayMergeable: Codable {
  /// Merges two values that were made at the same time out of the same one. It cannot fail: when the two are
  /// incompatible, return one of them.
  ///
  /// - Parameters:
  ///   - base: The value that both were made of; `nil` when both are new.
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

/// Writes a value as its type does, and notes the type's merge.
private final class MergeableEncoding<Value: ThreeWayMergeable>: ValueEncoding<Value>, @unchecked Sendable {
  private let encoding: ValueEncoding<Value>

  init(_ encoding: ValueEncoding<Value>) {
    self.encoding = encoding
  }

  override func write(_ value: Value, key: (any CodingKey)?, to writer: DocumentWriter) throws {
    let forms = writer.forms
    if let forms { forms.append(.mergeable(Self.merge(forms.coders)), at: writer.text.count) }
    // The value merges as a whole, so the forms of its parts are not needed.
    writer.forms = nil
    defer { writer.forms = forms }
    try encoding.write(value, key: key, to: writer)
  }

  private static func merge(_ coders: FormCoders) -> @Sendable (MergeableValues) -> MergedValue? {
    // The conformance is the one that the value was just written with.
    nonisolated(unsafe) let merge = { (values: MergeableValues) -> MergedValue? in
      func read(_ value: MergeableValues.Value) -> Value? {
        try? coders.decoder.decode(Value.self, at: value.node, of: value.document) as? Value
      }
      guard let mine = read(values.mine), let theirs = read(values.theirs) else { return nil }
      let base = values.base.flatMap(read)
      guard base != nil || values.base == nil else { return nil }
      func text(_ value: Value) -> [UInt8]? { try? coders.encoder.text(of: value) }
      guard let theirText = text(theirs) else { return nil }
      // They still have the value that mine is based on, so there is nothing to merge.
      if let base, text(base) == theirText { return text(mine).map { MergedValue(theirs: theirText, merged: $0) } }
      let merged = Value.merged(base: base, mine: mine, theirs: theirs)
      return text(merged).map { MergedValue(theirs: theirText, merged: $0) }
    }
    return { merge($0) }
  }
}

/// Decides about a field, an entry or an element that one service removes while another changes it.
public enum RemovalPolicy: Hashable, Sendable, CaseIterable {
  /// The later commit decides, as when both changed it.
  case laterWins
  /// It stays, with the change. Suits carts.
  case changeWins
  /// It is removed. Suits revocations.
  case removalWins
}
