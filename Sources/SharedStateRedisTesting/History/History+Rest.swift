extension History {
  /// What there is once writes have stopped, everyone is connected, and nothing is on its way.
  public struct Rest: Hashable, Codable, Sendable {
    /// What a box has.
    public struct Held: Hashable, Codable, Sendable {
      /// Which box.
      public var box: Box
      /// Its value, as a document.
      public var document: Document
      /// The newest revision that its service knows; `nil`: nobody has asked.
      public var revision: UInt64?

      /// What a box has.
      public init(_ box: Box, _ document: Document, revision: UInt64? = nil) {
        self.box = box
        self.document = document
        self.revision = revision
      }
    }

    /// What is stored under each name.
    public var stored: [String: Stored]
    /// What every box has.
    public var boxes: [Held]
    /// All keys that the server has; `nil`: nobody has asked.
    public var keys: [String]?

    /// What there is.
    public init(stored: [String: Stored], boxes: [Held], keys: [String]? = nil) {
      self.stored = stored
      self.boxes = boxes
      self.keys = keys
    }
  }
}
