extension History {
  /// What there is in Redis under one name.
  public struct Stored: Hashable, Codable, Sendable, CustomStringConvertible {
    /// What a key holds.
    public enum Content: Hashable, Codable, Sendable {
      case absent
      case document(Document)
      /// What cannot be read, such as a document that does not decode, or a list; the text tells it from another one.
      case unreadable(String)
    }

    /// 0: it has none.
    public var revision: UInt64
    /// What the key holds.
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
