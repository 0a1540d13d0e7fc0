extension RedisHistory {
  /// One share of a value in one service, which the guarantees call a box.
  public struct Box: Hashable, Codable, Sendable, CustomStringConvertible {
    /// The service, by a unique name. A restarted service needs a new name.
    public let service: String
    /// The name of the value.
    public let name: String
    /// Distinguishes this share from earlier shares of the value in the same service that were dropped.
    public let number: Int

    /// The share of a value in a service.
    public init(service: String, name: String, number: Int = 0) {
      self.service = service
      self.name = name
      self.number = number
    }

    /// The service and the name.
    public var description: String { "\(service)'s \(name)" }
  }
}
