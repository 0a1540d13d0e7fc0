extension RedisHistory {
  /// The content and the revision that Redis stores under one name.
  public struct Stored: Hashable, Codable, Sendable, CustomStringConvertible {
    /// The content of a key.
    public enum Content: Hashable, Codable, Sendable {
      case absent
      case document(Document)
      /// Content that cannot be read, such as a document that does not decode, or a list. The text identifies it.
      case unreadable(String)
    }

    /// The revision; 0: there is none.
    public var revision: UInt64
    /// The content.
    public var content: Content

    /// A content, and its revision.
    public init(revision: UInt64, _ content: Content) {
      self.revision = revision
      self.content = content
    }

    /// The document; `nil`: there is none, or it cannot be read.
    public var document: Document? {
      if case .document(let document) = content { document } else { nil }
    }

    /// The revision and the content.
    public var description: String {
      switch content {
      case .absent: "\(revision): nothing"
      case .document(let document): "\(revision): \(document)"
      case .unreadable(let text): "\(revision): unreadable \(text)"
      }
    }
  }
}
