/// The newest version of a value for which there is evidence: it was read from the server, or the server has said that
/// it was made.
///
/// Only this is ever given back to a server. A message is news, and never evidence.
struct Held: Hashable, Sendable {
  /// `nil`: nothing was stored, or nobody knows under which revision.
  private(set) var meta: Meta?
  private(set) var content = StoredValue.Content.absent
  /// How the server was, at the latest, when the version was seen last; `nil`: on another connection it was not asked.
  private(set) var sighting: Vitals?

  init() {}

  init(_ meta: Meta?, _ content: StoredValue.Content, seenWith vitals: Vitals?) {
    (self.meta, self.content, sighting) = (meta, content, vitals)
  }

  var revision: Revision { meta?.revision ?? .none }

  /// It was seen once more.
  mutating func seen(with vitals: Vitals?) {
    sighting = vitals
  }

  /// The version that is to be given back to a server that has lost it; `nil`: there is none.
  ///
  /// A meta without its document tells that there was one, and not which.
  var restorable: Meta? {
    guard let meta else { return nil }
    switch content {
    case .document: return meta.kind == .set ? meta : nil
    case .absent: return meta.kind == .deleted ? meta : nil
    case .oversized, .otherType: return nil
    }
  }
}
