extension History {
  /// A write by somebody who knows revisions, as it took effect at the server.
  public struct Commit: Hashable, Codable, Sendable {
    /// What it was made for.
    public enum Cause: Hashable, Codable, Sendable {
      /// The box's changes up to this number.
      case change(through: Int)
      /// Atomic updates, by their numbers.
      case updates([Int])
      /// Deletes what is stored; the box's changes up to this number go with it.
      case reset(through: Int)
      /// Gives a revision to what somebody has written without one.
      case adoption
      /// Gives the server back what it has lost.
      case restoration
      /// What the server had lost was merged with what was written there since.
      case merge
    }

    /// On what condition the server carried it out.
    public enum Condition: Hashable, Codable, Sendable {
      case none
      /// That the revision was the one that the box knew.
      case revision
      /// The same, and somebody had asked to replace what cannot be read.
      case replacing
    }

    /// Whose it is; `nil`: none of the services'.
    public var box: Box?
    /// The name of the value.
    public var name: String
    /// What it was made for.
    public var cause: Cause
    /// On what condition the server carried it out.
    public var condition: Condition
    /// What the box took for stored when it made the document; `nil`: it was not to keep anything of that.
    public var base: Stored.Content?
    /// What it was to make of which fields, where `null` is to remove one; `nil`: that is not known.
    public var changes: Document?
    /// What it was to add to the numbers in which fields, whatever others add to them.
    public var increments: [String: Int]
    /// What was stored when the box last showed what was stored, so that the change is a change of that; `nil`: that is
    /// not known. An element that others have removed meanwhile comes back with what it had there.
    public var origin: Stored.Content?
    /// What the server had lost, and this includes all the same: it was merged, or given back with it.
    public var includes: Stored?
    /// What was stored right before.
    public var before: Stored
    /// What is stored now.
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
