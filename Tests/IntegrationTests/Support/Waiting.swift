import SharedState
import SharedStateRedis
import SharedStateTesting
import Testing

/// How long a test waits for what has to happen. Generous, because it is never waited for in vain.
let patience = Duration.seconds(30)

extension Shared where Value: Sendable {
  /// Waits until the value is as wanted, and returns it.
  @discardableResult
  func value(
    _ comment: Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation,
    where isWanted: @escaping @Sendable (Value) -> Bool
  ) async throws -> Value {
    try await first(in: updates, comment, sourceLocation, where: isWanted)
  }

  /// Waits until the errors and the loading state are as wanted.
  func status(
    _ comment: Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation,
    where isWanted: @escaping @Sendable (Shared<Value>) -> Bool
  ) async throws {
    try await inTime(comment, sourceLocation) { [self] in
      try await waitUntil { isWanted(self) }
    }
  }
}

extension Shared where Value: Equatable & Sendable {
  /// Waits until the share has a value.
  func becomes(_ value: Value, sourceLocation: SourceLocation = #_sourceLocation) async throws {
    try await self.value("waiting for \(value)", sourceLocation: sourceLocation) { $0 == value }
  }
}

extension RedisStore {
  /// Waits until the status is as wanted.
  func status(
    sourceLocation: SourceLocation = #_sourceLocation,
    where isWanted: @escaping @Sendable (Status) -> Bool
  ) async throws {
    try await first(in: statuses, nil, sourceLocation, where: isWanted)
  }

  /// Waits until the store is in touch with its server.
  func isUp(sourceLocation: SourceLocation = #_sourceLocation) async throws {
    try await status(sourceLocation: sourceLocation) { $0 == .connected || $0 == .inProcess }
  }

  /// Waits until the store has noticed that its server is gone.
  func isDown(sourceLocation: SourceLocation = #_sourceLocation) async throws {
    try await status(sourceLocation: sourceLocation) {
      if case .reconnecting = $0 { true } else { false }
    }
  }

  /// Waits until the store has noticed this about its server.
  func isReconnecting(
    because reason: RedisSharedStateError,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    try await status(sourceLocation: sourceLocation) {
      if case .reconnecting(_, reason) = $0 { true } else { false }
    }
  }
}

/// Waits for something that tells nobody when it happens, such as what another process does.
func eventually(
  _ comment: Comment,
  sourceLocation: SourceLocation = #_sourceLocation,
  _ isSo: @escaping @Sendable () async throws -> Bool
) async throws {
  try await inTime(comment, sourceLocation) {
    while try await !isSo() { try await Task.sleep(for: .milliseconds(2)) }
  }
}

@discardableResult
private func first<Elements: AsyncSequence & Sendable>(
  in elements: Elements,
  _ comment: Comment?,
  _ sourceLocation: SourceLocation,
  where isWanted: @escaping @Sendable (Elements.Element) -> Bool
) async throws -> Elements.Element where Elements.Element: Sendable {
  try await inTime(comment, sourceLocation) {
    for try await element in elements where isWanted(element) { return element }
    throw CancellationError()
  }
}

private func inTime<Result: Sendable>(
  _ comment: Comment?,
  _ sourceLocation: SourceLocation,
  wait: @escaping @Sendable () async throws -> Result
) async throws -> Result {
  do {
    return try await Deadline.run(within: patience, operation: wait) { WaitedInVain() }
  } catch let error as WaitedInVain {
    Issue.record(comment ?? "waited in vain", sourceLocation: sourceLocation)
    throw error
  }
}

struct WaitedInVain: Error {}
