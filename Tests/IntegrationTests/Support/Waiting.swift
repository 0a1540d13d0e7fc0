import SharedState
import SharedStateRedis
import SharedStateRedisTesting
import Testing

extension Shared where Value: Sendable {
  /// Waits until the value is as wanted, and returns it.
  @discardableResult
  func value(
    _ what: String = "another value",
    sourceLocation: SourceLocation = #_sourceLocation,
    where isWanted: @escaping @Sendable (Value) -> Bool
  ) async throws -> Value {
    try await SharedReader(self).value(what, sourceLocation: sourceLocation, where: isWanted)
  }

  /// Waits until the errors and the loading state are as wanted.
  func status(
    _ what: String = "another status",
    sourceLocation: SourceLocation = #_sourceLocation,
    where isWanted: @escaping @Sendable (Shared<Value>) -> Bool
  ) async throws {
    try await inTime(what, found: { summary }, sourceLocation: sourceLocation) { [self] in
      try await waitUntil { isWanted(self) }
    }
  }

  /// Whether this error says that the stored value cannot be decoded.
  func hasUndecodable(_ error: KeyPath<Shared, (any Error)?>) -> Bool {
    (self[keyPath: error] as? RedisSharedStateError)?.code == .undecodable
  }

  /// The state of the share, for messages of failures.
  var summary: String { SharedReader(self).summary + saveError.map { ", saveError: \($0)" }.joined }
}

extension SharedReader where Value: Sendable {
  /// Waits until the value is as wanted, and returns it.
  @discardableResult
  func value(
    _ what: String = "another value",
    sourceLocation: SourceLocation = #_sourceLocation,
    where isWanted: @escaping @Sendable (Value) -> Bool
  ) async throws -> Value {
    try await first(in: updates, what, found: { summary }, sourceLocation, where: isWanted)
  }

  /// The state of the share, for messages of failures.
  var summary: String {
    "\(wrappedValue)" + (isLoading ? ", loading" : "") + loadError.map { ", loadError: \($0)" }.joined
  }
}

extension Shared where Value: Equatable & Sendable {
  /// Waits until the share has a value.
  func becomes(_ value: Value, sourceLocation: SourceLocation = #_sourceLocation) async throws {
    try await self.value("\(value)", sourceLocation: sourceLocation) { $0 == value }
  }
}

extension SharedReader where Value: Equatable & Sendable {
  /// Waits until the share has a value.
  func becomes(_ value: Value, sourceLocation: SourceLocation = #_sourceLocation) async throws {
    try await self.value("\(value)", sourceLocation: sourceLocation) { $0 == value }
  }
}

extension RedisStore {
  /// Waits until the status is as wanted.
  func status(
    _ what: String = "another status of the store",
    sourceLocation: SourceLocation = #_sourceLocation,
    where isWanted: @escaping @Sendable (Status) -> Bool
  ) async throws {
    try await first(in: statuses, what, found: { "\(self.status)" }, sourceLocation, where: isWanted)
  }

  /// Waits until the store is connected to its server.
  func isUp(sourceLocation: SourceLocation = #_sourceLocation) async throws {
    try await status("a connection", sourceLocation: sourceLocation) { $0 == .connected || $0 == .inProcess }
  }

  /// Waits until the store has noticed that its server is gone.
  func isDown(sourceLocation: SourceLocation = #_sourceLocation) async throws {
    try await status("the end of the connection", sourceLocation: sourceLocation) {
      if case .reconnecting = $0 { true } else { false }
    }
  }

  /// Expects that a person has to mend something before the store can connect, and that the error says what.
  func cannotConnect(
    _ code: RedisSharedStateError.Code,
    _ text: String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async {
    let error = await #expect(throws: RedisSharedStateError.self, sourceLocation: sourceLocation) {
      try await waitUntilConnected(within: .seconds(60))
    }
    #expect(error?.code == code, sourceLocation: sourceLocation)
    let describes = error?.description.contains(text) == true
    #expect(describes, "\(String(describing: error))", sourceLocation: sourceLocation)
  }

  /// Waits until the store reconnects for this reason.
  func isReconnecting(
    because reason: RedisSharedStateError,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    try await status("reconnecting because of: \(reason)", sourceLocation: sourceLocation) {
      if case .reconnecting(_, reason) = $0 { true } else { false }
    }
  }
}

@discardableResult
private func first<Elements: AsyncSequence & Sendable>(
  in elements: Elements,
  _ what: String,
  found: @escaping @Sendable () -> String,
  _ sourceLocation: SourceLocation,
  where isWanted: @escaping @Sendable (Elements.Element) -> Bool
) async throws -> Elements.Element where Elements.Element: Sendable {
  try await inTime(what, found: found, sourceLocation: sourceLocation) {
    for try await element in elements where isWanted(element) { return element }
    // The sequence also ends when the task is cancelled.
    throw Task.isCancelled ? CancellationError() : WaitedInVain(for: what)
  }
}

extension Optional<String> {
  fileprivate var joined: String { self ?? "" }
}
