package import Foundation

/// Makes the documents that are committed out of values: merged with what others have written, and kept within limits.
package struct DocumentCoder<Value>: Sendable {
  package typealias Coded<Success> = Result<Success, RedisSharedStateError>

  private let encode: @Sendable (Value) -> Coded<Data>
  private let decode: @Sendable (Data) -> Coded<Value>

  /// - Parameters:
  ///   - encode: Makes a document; fails also when it is too large.
  ///   - decode: Reads a document.
  package init(
    encode: @escaping @Sendable (Value) -> Coded<Data>,
    decode: @escaping @Sendable (Data) -> Coded<Value>
  ) {
    self.encode = encode
    self.decode = decode
  }

  /// The documents of a local change.
  package func documents(
    of value: Value,
    default initialValue: Value,
    _ encoding: Replica.Encoding
  ) -> Coded<Replica.Documents> {
    encode(value).map { mine in
      guard encoding.isMerged, case .document(let theirs) = encoding.stored.content else {
        return Replica.Documents(encoded: mine, merged: mine)
      }
      let base: Data? =
        switch encoding.base {
        case .encoded(let document): document
        case .stored(let document): normalized(document)
        case .defaultValue: try? encode(initialValue).get()
        }
      return base.map { merge(mine, base: $0, onto: theirs) } ?? Replica.Documents(encoded: mine, merged: mine)
    }
  }

  /// Runs atomic updates one after the other on what is stored.
  ///
  /// - Parameter update: Runs one, and says whether it has changed anything; it had better not when it throws.
  /// - Returns: `nil` when nothing has changed.
  package func documents(
    default initialValue: Value,
    _ encoding: Replica.Encoding,
    update: (UInt64, inout Value) -> Bool
  ) -> Coded<Replica.Documents?> {
    var value = initialValue
    if case .document(let document) = encoding.stored.content {
      switch decode(document) {
      case .success(let decoded): value = decoded
      case .failure(let error): return .failure(error)
      }
    }
    let before = value
    // All of them have to run.
    let isChanged = encoding.updates.reduce(false) { update($1, &value) || $0 }
    guard isChanged else { return .success(nil) }
    return encode(value).map { mine in
      let base = try? encode(before).get()
      // The same value need not be the same bytes: the order of keys is the encoder's.
      if let base, base == mine || isSame(base, mine) { return nil }
      guard let base, case .document(let theirs) = encoding.stored.content else {
        return Replica.Documents(encoded: mine, merged: mine)
      }
      let merged = encoding.isMerged ? merge(mine, base: base, onto: theirs).merged : mine
      return merged == theirs ? nil : Replica.Documents(encoded: mine, merged: merged)
    }
  }

  private func normalized(_ document: Data) -> Data? {
    try? decode(document).flatMap(encode).get()
  }

  /// Applies the difference between two of our own documents to a stored one.
  private func merge(_ mine: Data, base: Data, onto theirs: Data) -> Replica.Documents {
    let whole = Replica.Documents(encoded: mine, merged: mine)
    // Nobody else has written anything, and there are no fields but ours.
    if base == theirs { return whole }
    guard let outcome = try? ThreeWayMerge.merge(base: base, mine: mine, theirs: theirs) else { return whole }
    let shown = normalized(outcome.document)
    // Two changes that are right by themselves need not be so together: the later commit wins then, whole.
    if outcome.isChanged, shown == nil { return whole }
    // With nothing of theirs in it, it is better sent as ours, so that the next change need not be merged.
    if outcome.isChanged, isSame(outcome.document, mine) { return whole }
    return Replica.Documents(encoded: mine, merged: outcome.document, isReflected: shown == mine)
  }

  private func isSame(_ document: Data, _ other: Data) -> Bool {
    guard let document = try? JSONDocument(parsing: document), let other = try? JSONDocument(parsing: other) else {
      return false
    }
    return document.hasSameValue(as: other)
  }
}
