public import Foundation

extension RedisStore {
  /// What Redis knows about a stored value.
  public struct Metadata: Hashable, Sendable {
    /// Grows with every write by anybody. 0 when the value was written by something other than this library.
    public let revision: UInt64
    /// When it was written, by the server's clock; `nil` when the value was written by something else.
    public let writtenAt: Date?
    /// Who wrote it: label, host, process and nonce; `nil` when the value was written by something else.
    public let writtenBy: String?
    /// Whether it was written, or deleted, by something that does not know revisions. ``writtenBy`` then begins with
    /// `foreign/` and names the service that gave it its revision; without a revision it is `nil`.
    public let isForeign: Bool
    /// The size of the document in bytes; `nil` when the value was deleted, or the key holds another Redis type.
    public let size: Int?

    init?(_ stored: StoredValue?) {
      guard let stored, stored.meta != nil || stored.content != .absent else { return nil }
      revision = stored.meta?.revision.rawValue ?? 0
      writtenAt = stored.meta.map { Date(timeIntervalSince1970: Double($0.revision.rawValue) / 1_000_000) }
      writtenBy = stored.meta?.writer
      isForeign = stored.meta?.writer.hasPrefix(Meta.foreignMark) ?? true
      size = if case .document(let document) = stored.content { document.count } else { nil }
    }
  }
}
