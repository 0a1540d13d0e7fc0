import Foundation
import SharedState

/// Encodes values into the documents that are committed, merged with the changes of other services and checked against
/// the key's rules.
struct DocumentCoder<Value>: Sendable {
  typealias Coded<Success> = Result<Success, RedisSharedStateError>
  private typealias Checked<Success> = Result<Success, Refusal>

  /// Why a value could not become a document.
  private struct Refusal: Error {
    let error: RedisSharedStateError
    /// Whether the value is valid by itself but not together with the stored document.
    var isOfMerge = false
  }

  /// A key's requirements of a value, besides that it can be encoded and decoded.
  struct Rules: Sendable {
    /// The key's name.
    var name: String
    /// The largest document that is sent, in bytes.
    var maximumBytes = Int.max
    /// The outcome for an element that one side has removed and the other has changed.
    var removal = RemovalPolicy.laterWins
    /// Why a value must not be shared; `nil` if it may be.
    var refusal: @Sendable (Value) -> RedisSharedStateError? = { _ in nil }
  }

  /// A value of a stored document.
  struct Reading {
    var value: Value
    /// The members of the document that cannot be read, and have other values here.
    var unreadableMembers: RedisSharedStateError?
  }

  private let encode: @Sendable (Value) -> Coded<Data>
  private let read: @Sendable (Data, _ last: Data?) -> Coded<Reading>
  private let form: @Sendable (Value) -> FormedDocument?
  private let rules: Rules

  /// - Parameters:
  ///   - encode: Encodes a value into a document of any size.
  ///   - read: Decodes a document. The second one supplies members that cannot be read; `nil`: the default does.
  ///   - form: Encodes the same document as `encode`, with the facts that the type knows about it; `nil` if it knows
  ///     none.
  init(
    encode: @escaping @Sendable (Value) -> Coded<Data>,
    read: @escaping @Sendable (Data, _ last: Data?) -> Coded<Reading>,
    form: @escaping @Sendable (Value) -> FormedDocument? = { _ in nil },
    rules: Rules
  ) {
    self.encode = encode
    self.read = read
    self.form = form
    self.rules = rules
  }

  /// Makes a coder for documents that can be read as a whole or not at all.
  init(
    encode: @escaping @Sendable (Value) -> Coded<Data>,
    decode: @escaping @Sendable (Data) -> Coded<Value>,
    form: @escaping @Sendable (Value) -> FormedDocument? = { _ in nil },
    rules: Rules
  ) {
    self.init(
      encode: encode,
      read: { document, _ in decode(document).map { Reading(value: $0) } },
      form: form,
      rules: rules
    )
  }

  /// Decodes a document whose value is to be shown.
  private func accept(_ document: Data, last: Data?) -> Coded<Reading> {
    read(document, last).flatMap { reading in rules.refusal(reading.value).map { .failure($0) } ?? .success(reading) }
  }

  /// The document of a value that is shown although members of the stored one cannot be read.
  func document(of value: Value) -> Coded<Data> { encode(value) }

  /// Decodes what is stored, if it is to be shown; `nil`: nothing is stored.
  ///
  /// - Parameter last: The document that supplies members that cannot be read; `nil`: the default does.
  func accept(_ content: StoredValue.Content, last: Data? = nil) throws(RedisSharedStateError) -> Reading? {
    switch content {
    case .absent: nil
    case .otherType(let type): throw .wrongType(type, name: rules.name)
    case .oversized(let bytes):
      throw .valueTooLarge(name: rules.name, bytes: bytes, maximumBytes: rules.maximumBytes)
    case .document(let document): try accept(document, last: last).get()
    }
  }

  /// The documents of a local change.
  func documents(
    of value: Value,
    stamp: UInt64,
    default initialValue: Value,
    _ encoding: Replica.Encoding
  ) -> Replica.Encoded {
    switch documents(of: value, default: initialValue, encoding) {
    case .success(let documents): return Replica.Encoded(stamp: stamp, result: .success(documents))
    case .failure(let refusal):
      var encoded = Replica.Encoded(stamp: stamp, result: .failure(refusal.error))
      encoded.givesWay = refusal.isOfMerge
      return encoded
    }
  }

  private func documents(
    of value: Value,
    default initialValue: Value,
    _ encoding: Replica.Encoding
  ) -> Checked<Replica.Documents> {
    checkedDocument(of: value).flatMap { mine in
      let whole = Replica.Documents(encoded: mine, merged: mine)
      guard encoding.isMerged, let theirs = encoding.stored.content.document else { return .success(whole) }
      // The stored document was made by this service, so there is nothing to merge with.
      if case .encoded(theirs, _) = encoding.base { return .success(whole) }
      let base: Base? =
        switch encoding.base {
        case .encoded(let document, let stored): makeBase(read: document, from: stored)
        case .stored(let document): makeBase(read: document, from: document)
        case .defaultValue: makeBase(of: initialValue, from: nil)
        }
      return base.map { merge(value, mine, base: $0, onto: theirs) } ?? .success(whole)
    }
  }

  /// Runs atomic updates one after the other on the stored value.
  ///
  /// If the result breaks the rules, they run once more and each one is judged by itself.
  /// - Parameter update: Runs one update and returns whether it has changed the value. It should leave the value
  ///   unchanged if it throws.
  func documents(
    default initialValue: Value,
    _ encoding: Replica.Encoding,
    update: (UInt64, inout Value) -> Bool
  ) -> Replica.Encoded {
    var before = initialValue
    if case .document(let document) = encoding.stored.content {
      switch read(document, encoding.last) {
      case .success(let reading): before = reading.value
      case .failure(let error): return Replica.Encoded(stamp: 0, result: .failure(error))
      }
    }
    var value = before
    var (isChanged, isRefused) = (false, false)
    for waiter in encoding.updates where !isRefused {
      guard update(waiter, &value) else { continue }
      (isChanged, isRefused) = (true, rules.refusal(value) != nil)
    }
    let result = isChanged ? documents(from: before, to: value, encoding) : .success(nil)
    if encoding.updates.count > 1 {
      if case .failure = result { isRefused = true }
      if isRefused { return documentsOneByOne(from: before, encoding, update: update) }
    }
    return Replica.Encoded(stamp: 0, result: result.mapError(\.error))
  }

  private func documentsOneByOne(
    from before: Value,
    _ encoding: Replica.Encoding,
    update: (UInt64, inout Value) -> Bool
  ) -> Replica.Encoded {
    var value = before
    var encoded = Replica.Encoded(stamp: 0, result: .success(nil))
    for waiter in encoding.updates {
      var candidate = value
      guard update(waiter, &candidate) else { continue }
      switch documents(from: before, to: candidate, encoding) {
      case .success(let documents):
        value = candidate
        encoded.result = .success(documents)
      case .failure(let refusal):
        encoded.refused[waiter] = refusal.error
      }
    }
    return encoded
  }

  /// - Returns: `nil` if nothing has changed.
  private func documents(
    from before: Value,
    to value: Value,
    _ encoding: Replica.Encoding
  ) -> Checked<Replica.Documents?> {
    checkedDocument(of: value).flatMap { mine in
      let stored = encoding.stored.content.document
      let base = makeBase(of: before, from: stored)
      if let base, isSame(base.document, mine) { return .success(nil) }
      guard let base, encoding.isMerged, let theirs = stored else {
        return .success(Replica.Documents(encoded: mine, merged: mine))
      }
      return merge(value, mine, base: base, onto: theirs).map { documents in
        documents.merged == theirs ? nil : Replica.Documents(encoded: mine, merged: documents.merged)
      }
    }
  }

  private func checkedDocument(of value: Value) -> Checked<Data> {
    if let error = rules.refusal(value) { return .failure(Refusal(error: error)) }
    return encode(value).mapError { Refusal(error: $0) }.flatMap { document in
      sizeError(of: document).map { .failure(Refusal(error: $0)) } ?? .success(document)
    }
  }

  private func sizeError(of document: Data) -> RedisSharedStateError? {
    guard document.count > rules.maximumBytes else { return nil }
    return .valueTooLarge(name: rules.name, bytes: document.count, maximumBytes: rules.maximumBytes)
  }

  /// The value that a local change is based on.
  private struct Base {
    let value: Value
    /// The value as this service encodes it.
    let document: Data
    /// The document stored when the value was read; `nil` if there was none.
    let stored: Data?
  }

  private func makeBase(of value: Value, from stored: Data?) -> Base? {
    (try? encode(value).get()).map { Base(value: value, document: $0, stored: stored) }
  }

  private func makeBase(read document: Data, from stored: Data?) -> Base? {
    (try? read(document, nil).get()).flatMap { makeBase(of: $0.value, from: stored) }
  }

  private func formed(_ value: Value, _ document: Data) throws -> FormedDocument {
    try form(value) ?? FormedDocument(document: JSONDocument(parsing: document), forms: nil)
  }

  /// Applies the difference between two of our own documents to a stored one.
  ///
  /// Two changes that are valid by themselves need not be valid together. In that case the later one, which is this
  /// one, is refused, because the stored one was acknowledged.
  private func merge(_ value: Value, _ mine: Data, base: Base, onto theirs: Data) -> Checked<Replica.Documents> {
    let whole = Replica.Documents(encoded: mine, merged: mine)
    // No other client has written, and there are no unknown fields.
    if base.document == theirs { return .success(whole) }
    guard let outcome = try? outcome(of: value, mine, base, onto: theirs) else { return .success(whole) }
    // The result has nothing of theirs in it. Sent as our own document, it saves the next change a merge.
    if outcome.isChanged, isSame(outcome.document, mine) { return .success(whole) }
    guard outcome.isChanged else {
      let reading = try? read(theirs, mine).get()
      let shown = reading.flatMap { try? encode($0.value).get() }
      let isReflected = shown.map { isSame($0, mine) } ?? false
      var documents = Replica.Documents(encoded: mine, merged: theirs, isReflected: isReflected)
      documents.unreadableMembers = reading?.unreadableMembers
      return .success(documents)
    }
    // A service with a higher limit may have stored a larger document. A change that does not make it larger is
    // allowed.
    if outcome.document.count > theirs.count, let error = sizeError(of: outcome.document) {
      return .failure(Refusal(error: error, isOfMerge: true))
    }
    // The members that cannot be read are shown as they are in this service's own document.
    guard case .success(let reading) = read(outcome.document, mine) else {
      return .failure(Refusal(error: .conflict(name: rules.name, local: mine, stored: theirs), isOfMerge: true))
    }
    if let error = rules.refusal(reading.value) { return .failure(Refusal(error: error, isOfMerge: true)) }
    return encode(reading.value).mapError { Refusal(error: $0, isOfMerge: true) }.map { shown in
      var documents = Replica.Documents(encoded: mine, merged: outcome.document, isReflected: isSame(shown, mine))
      documents.unreadableMembers = reading.unreadableMembers
      return documents
    }
  }

  private func outcome(
    of value: Value,
    _ mine: Data,
    _ base: Base,
    onto theirs: Data
  ) throws -> ThreeWayMerge.Outcome {
    try ThreeWayMerge.merge(
      // Of a stored document in JSON5, only what this service has read of it is merged.
      raw: base.stored.map { try (try? JSONDocument(parsing: $0)) ?? JSONDocument(parsing: base.document) },
      base: formed(base.value, base.document),
      mine: formed(value, mine),
      theirs: JSONDocument(parsing: theirs),
      removal: rules.removal
    )
  }

  // MARK: Two histories

  /// Merges the document that a server has lost with the one written there since, whichever fields are known here.
  func merged(_ fork: Fork.Documents) -> Replica.Encoded {
    let outcome = merge(fork)
    var encoded = Replica.Encoded(
      stamp: 0,
      result: outcome.map { Replica.Documents(encoded: $0.document, merged: $0.document) }
    )
    encoded.overridden = (try? outcome.get().overridden) ?? 0
    return encoded
  }

  private func merge(_ fork: Fork.Documents) -> Coded<ThreeWayMerge.Outcome> {
    let outcome: ThreeWayMerge.Outcome
    do {
      let stored = try formed(reading: fork.stored)
      // Without a type that distinguishes an enum from a struct, two objects without a base are merged as structs.
      let nothing = stored.forms == nil ? Data("{}".utf8) : nil
      let base = try (fork.base ?? nothing).map { try formed(reading: $0) }
      outcome = ThreeWayMerge.merge(
        raw: base?.document,
        base: base,
        mine: stored,
        theirs: try JSONDocument(parsing: fork.verified),
        removal: rules.removal,
        isBaseExact: fork.isBaseExact
      )
    } catch {
      return .failure(.conflict(name: rules.name, local: fork.verified, stored: fork.stored))
    }
    let merged = outcome.document
    if merged.count > max(fork.stored.count, fork.verified.count), let error = sizeError(of: merged) {
      return .failure(error)
    }
    return accept(merged, last: nil).map { _ in outcome }
  }

  /// A stored document, with the facts that the type knows about it.
  private func formed(reading document: Data) throws -> FormedDocument {
    let parsed = try JSONDocument(parsing: document)
    guard let reading = try? read(document, nil).get(), let own = form(reading.value) else {
      return FormedDocument(document: parsed, forms: nil)
    }
    return FormedDocument(parsed, like: own)
  }

  /// Whether two documents have the same value. Their bytes may differ, because the encoder decides the order of keys.
  private func isSame(_ document: Data, _ other: Data) -> Bool {
    if document == other { return true }
    guard let document = try? JSONDocument(parsing: document), let other = try? JSONDocument(parsing: other) else {
      return false
    }
    return document.hasSameValue(as: other)
  }
}
