/// A strategy that loads a shared value from somewhere, hears of changes to it, and saves it.
public protocol SharedKey<Value>: SharedReaderKey {
  /// Saves the value, and tells the continuation how it went, now or later, from any thread.
  ///
  /// Calls for one reference come one after the other, in the order of the mutations. When several mutations were made
  /// during one call, the next call is for the newest value only.
  ///
  /// - Parameters:
  ///   - value: The newest value.
  ///   - context: Who asks: a mutation, or an explicit `save()`.
  ///   - continuation: Resume it exactly once.
  func save(_ value: Value, context: SaveContext, continuation: SaveContinuation)
}
