import Foundation

/// The newest state known to be in Redis, whether or not it is shown yet, and what the server has instead.
struct Confirmed: Sendable {
  /// What is stored instead of the confirmed state. Without a meta it is nothing, or a write without a revision.
  struct Left: Hashable, Sendable {
    let meta: Meta?
    let document: Data?
  }

  private(set) var state = Replica.State(revision: .none, content: .absent)
  /// Whether the server has said anything in the life of this replica.
  private(set) var isKnown = false
  /// The date of the snapshot that the state is from; `nil`: the server has said something since, or there is none.
  private(set) var snapshotDate: Date?
  /// The meta of the state: parent, writer and expiry.
  private(set) var meta: Meta?
  /// Whether `meta` matches the server's exactly. It may not: a message of another service carries no expiry.
  private(set) var isMetaCertain = true
  /// Whether the content is known to be what the writer that `meta` names has written: its message carried it, or the
  /// writer is this service. A client may have replaced a document that was only read.
  private(set) var isByWriter = false
  /// What the server has if that is not the state: nothing is left of a deletion or an expiry, a client has written
  /// without a revision, or the server has lost a version that cannot be restored.
  private(set) var left: Left?

  init() {}

  /// The server has confirmed a state in an earlier life of the service.
  init(_ snapshot: SnapshotState) {
    (state, snapshotDate) = (snapshot.state, snapshot.date)
  }

  var revision: Revision { state.revision }
  var content: StoredValue.Content { state.content }

  /// The meta that the server is expected to have.
  var expectedMeta: Meta? { stored.meta }

  /// The document that a commit has to expect, because no meta proves that the server has it.
  var basis: Data? { stored.meta == nil ? stored.document : nil }

  private var stored: Left { left ?? Left(meta: meta, document: content.document) }

  /// Whether this is stored instead of the confirmed state, without a meta.
  func isReplaced(by stored: StoredValue) -> Bool {
    stored.meta == nil && left == Left(meta: nil, document: stored.document)
  }

  /// The revision that the server is expected to have.
  var storedRevision: Revision { expectedMeta?.revision ?? .none }

  /// Takes another state, which the server has.
  ///
  /// - Parameter isByWriter: Whether the content is known to be what the meta's writer has written. That stays known
  ///   for as long as neither the version nor the content changes.
  mutating func take(
    _ content: StoredValue.Content,
    at revision: Revision,
    _ meta: Meta?,
    isMetaCertain: Bool = true,
    isByWriter: Bool = false
  ) {
    self.isByWriter =
      isByWriter || self.isByWriter && meta?.version == self.meta?.version && content == state.content
    state = Replica.State(revision: revision, content: content)
    (isKnown, snapshotDate) = (true, nil)
    (self.meta, self.isMetaCertain, left) = (meta, isMetaCertain, nil)
  }

  /// The server has this value. The state may be one that it does not have.
  mutating func compare(with stored: StoredValue) {
    let isSame = stored.meta == meta && (meta != nil || stored.document == content.document)
    left = isSame ? nil : Left(meta: stored.meta, document: stored.document)
    (isKnown, snapshotDate) = (true, nil)
  }

  /// The content has no revision of its own. This meta is stored beside it.
  mutating func placeBeside(_ stored: Meta?) {
    isByWriter = false
    left = Left(meta: stored, document: content.document)
  }

  /// The server has the state again. Its expiry is not known.
  mutating func restored() {
    (left, isMetaCertain) = (nil, false)
  }

  /// The server alone knows when the state expires.
  mutating func doubtExpiry() {
    isMetaCertain = false
  }

  /// The key holds another Redis type.
  mutating func found(otherType type: String) {
    state.content = .otherType(type)
    (isKnown, snapshotDate) = (true, nil)
    isByWriter = false
  }
}
