/// The newest version of a value that is verified: it was read from the server, or the server has acknowledged a commit
/// of it, or a message proves that the server has stored it.
///
/// Only this version is ever restored.
struct VerifiedVersion: Hashable, Sendable {
  /// `nil` if nothing was stored, or its revision is unknown.
  private(set) var meta: Meta?
  private(set) var content = StoredValue.Content.absent
  /// The server's vitals when the version was seen last, or earlier ones; `nil` if they were not asked for then.
  private(set) var sighting: Vitals?
  /// Whether only a message has shown it. Whoever can read the secret can forge one.
  private(set) var isOnlyAnnounced = false

  init() {}

  init(_ meta: Meta?, _ content: StoredValue.Content, seenWith vitals: Vitals?, isOnlyAnnounced: Bool = false) {
    (self.meta, self.content, sighting, self.isOnlyAnnounced) = (meta, content, vitals, isOnlyAnnounced)
  }

  /// Takes the version for one that the server has shown.
  mutating func believe() { isOnlyAnnounced = false }

  var revision: Revision { meta?.revision ?? .none }

  /// The version to restore on a server that has lost it; `nil` if there is none.
  ///
  /// A meta without its document shows that there was a document, but not which one.
  var restorable: Meta? {
    guard let meta else { return nil }
    switch content {
    case .document: return meta.kind == .set ? meta : nil
    case .absent: return meta.kind == .deleted ? meta : nil
    case .oversized, .otherType: return nil
    }
  }
}
