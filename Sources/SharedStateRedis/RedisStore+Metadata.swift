public import Foundation

extension RedisStore {
  /// What Redis stores about a value.
  public struct Metadata: Hashable, Sendable {
    /// Grows with every write by any writer. 0 until a service adopts a value that another program has written.
    public let revision: UInt64
    /// When the value was assigned its revision, by the server's clock; `nil` without a revision.
    public let writtenAt: Date?
    /// The writer: label, host, process and nonce; `nil` without a revision, and for an edit that has none.
    public let writtenBy: String?
    /// Whether the value was written, or deleted, by a program that does not know revisions. ``writtenBy`` then begins
    /// with `foreign/` and names the service that adopted the value; without a revision it is `nil`.
    ///
    /// An edit of a value that has a revision is visible here once this store shows it, or another service has adopted
    /// it.
    public let isForeign: Bool
    /// The size of the document in bytes; `nil` when the value was deleted, or the key holds another Redis type.
    public let size: Int?

    /// - Parameter isEdited: Whether a share shows an edit that was made beside this metadata.
    init?(_ stored: StoredValue?, isEdited: Bool = false) {
      guard let stored, stored.meta != nil || stored.content != .absent else { return nil }
      revision = stored.meta?.revision.rawValue ?? 0
      writtenAt = stored.meta?.revision.date
      writtenBy = isEdited ? nil : stored.meta?.writer
      isForeign = isEdited || stored.meta?.isForeign ?? true
      size = stored.content == .absent ? nil : StoredSummary(of: stored).length
    }
  }
}
