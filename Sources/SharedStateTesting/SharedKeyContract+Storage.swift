public import SharedState

extension SharedKeyContract {
  /// The storage of the key under test.
  public struct Storage: Sendable {
    let values: [Key.Value]
    let patience: Duration
    let outsider: Outsider?
    let key: @Sendable (String) -> Key

    /// - Parameters:
    ///   - values: At least four values that differ. The first one serves as the default.
    ///   - patience: How long a check waits for an event before it fails. A key that keeps its promises is never this
    ///     slow.
    ///   - outsider: Access to the storage without the key.
    ///   - key: Makes the key of the state of a name. Two keys of one name are keys of the same state.
    public init(
      values: [Key.Value],
      patience: Duration = .seconds(20),
      outsider: Outsider? = nil,
      key: @escaping @Sendable (_ name: String) -> Key
    ) {
      self.values = values
      self.patience = patience
      self.outsider = outsider
      self.key = key
    }
  }

  /// Access to the storage without the key, as another program has. Each closure takes the name of the state, and
  /// returns once it is done.
  public struct Outsider: Sendable {
    let read: @Sendable (String) async throws -> Key.Value?
    let write: @Sendable (String, Key.Value) async throws -> Void
    let remove: @Sendable (String) async throws -> Void
    let damage: @Sendable (String) async throws -> Void

    /// - Parameters:
    ///   - read: Returns the stored value; `nil` when nothing is stored.
    ///   - write: Stores a value.
    ///   - remove: Removes the stored value.
    ///   - damage: Makes the stored value unreadable, until the next write.
    public init(
      read: @escaping @Sendable (_ name: String) async throws -> Key.Value?,
      write: @escaping @Sendable (_ name: String, _ value: Key.Value) async throws -> Void,
      remove: @escaping @Sendable (_ name: String) async throws -> Void,
      damage: @escaping @Sendable (_ name: String) async throws -> Void
    ) {
      self.read = read
      self.write = write
      self.remove = remove
      self.damage = damage
    }
  }
}
