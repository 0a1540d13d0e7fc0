extension RedisHistory {
  /// The contents of the server and of all boxes at rest: once writes have stopped, every service is connected, and no
  /// request, reply or message is on its way.
  public struct Rest: Hashable, Codable, Sendable {
    /// The value of one box.
    public struct Held: Hashable, Codable, Sendable {
      /// The box.
      public var box: Box
      /// Its value, as a document.
      public var document: Document
      /// The newest revision that its service knows; `nil`: it was not recorded.
      public var revision: UInt64?

      /// The value of a box.
      public init(_ box: Box, _ document: Document, revision: UInt64? = nil) {
        self.box = box
        self.document = document
        self.revision = revision
      }
    }

    /// The stored value under each name.
    public var stored: [String: Stored]
    /// The values of all boxes.
    public var boxes: [Held]
    /// All keys that the server has; `nil`: they were not recorded.
    public var keys: [String]?

    /// The contents of the server and of all boxes.
    public init(stored: [String: Stored], boxes: [Held], keys: [String]? = nil) {
      self.stored = stored
      self.boxes = boxes
      self.keys = keys
    }
  }
}
