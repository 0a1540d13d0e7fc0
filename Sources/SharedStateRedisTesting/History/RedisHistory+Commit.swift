extension RedisHistory {
  /// A write by a program that knows revisions, as it took effect at the server.
  public struct Commit: Hashable, Codable, Sendable {
    /// The reason for the commit.
    public enum Cause: Hashable, Codable, Sendable {
      /// Stores the box's changes up to this number.
      case change(through: Int)
      /// Applies atomic updates, by their numbers.
      case updates([Int])
      /// Deletes the stored value, and discards the box's changes up to this number.
      case reset(through: Int)
      /// Adopts an edit, which has no revision.
      case adoption
      /// Restores a value that the server has lost.
      case restoration
      /// Merges a value that the server had lost with the value that was written there since.
      case merge
    }

    /// The condition on which the server applied the commit.
    public enum Condition: Hashable, Codable, Sendable {
      case none
      /// The stored revision was the one that the box knew.
      case revision
      /// The same as `revision`, and the program had asked to replace unreadable data.
      case replacing
    }

    /// The box that made the commit; `nil`: the commit does not come from a service.
    public var box: Box?
    /// The name of the value.
    public var name: String
    /// The reason for the commit.
    public var cause: Cause
    /// The condition on which the server applied the commit.
    public var condition: Condition
    /// The content that the box believed to be stored when it made the document; `nil`: the commit keeps nothing of it.
    public var base: Stored.Content?
    /// The fields that the commit sets, where `null` removes a field; `nil`: they are not known.
    public var changes: Document?
    /// The increments of number fields, which apply in addition to the increments of others.
    public var increments: [String: Int]
    /// The stored content that the box showed last, and which the change is therefore based on; `nil`: it is not known.
    /// A changed element that others have removed meanwhile comes back with the fields that it had there.
    public var origin: Stored.Content?
    /// The version that the server had lost and that this commit includes, because it was merged or restored with it.
    public var includes: Stored?
    /// The stored version right before the commit.
    public var before: Stored
    /// The stored version right after the commit.
    public var after: Stored

    /// A commit that took effect.
    public init(
      of box: Box?,
      to name: String,
      cause: Cause,
      condition: Condition = .revision,
      base: Stored.Content? = nil,
      changes: Document? = nil,
      increments: [String: Int] = [:],
      origin: Stored.Content? = nil,
      includes: Stored? = nil,
      before: Stored,
      after: Stored
    ) {
      self.box = box
      self.name = name
      self.cause = cause
      self.condition = condition
      self.base = base
      self.changes = changes
      self.increments = increments
      self.origin = origin
      self.includes = includes
      self.before = before
      self.after = after
    }
  }
}
