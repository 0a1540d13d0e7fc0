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

  /// Deletes what is stored, and tells the continuation how it went, now or later, from any thread.
  ///
  /// Called in the same order as the saves. A key that does not implement it saves the default.
  ///
  /// - Parameters:
  ///   - initialValue: The default that the value has returned to.
  ///   - continuation: Resume it exactly once.
  func reset(to initialValue: Value, continuation: SaveContinuation)
}

extension SharedKey {
  /// Saves the default, for keys that cannot delete.
  public func reset(to initialValue: Value, continuation: SaveContinuation) {
    save(initialValue, context: .replacingUnreadable, continuation: continuation)
  }
}
