/// A fold over the events of a history. It remembers what one guarantee needs, and reports when the guarantee is
/// broken.
protocol Validator: Sendable {
  /// Takes in the next event. Returns one text for each way in which the event breaks the guarantee.
  mutating func observe(_ event: RedisHistory.Event, at position: Int) -> [String]
}
