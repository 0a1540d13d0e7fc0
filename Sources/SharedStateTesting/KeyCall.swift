import SharedState

/// One call of a key that has to be answered exactly once.
final class KeyCall<Outcome: Sendable>: Sendable {
  private let results = Journal<Result<Outcome, any Error>>()
  private let releases = Journal<Void>()

  /// What was wrong with the way the key answered.
  let misuses = Journal<String>()

  /// Waits for the first answer.
  func outcome() async throws -> Result<Outcome, any Error> {
    try await results.wait { !$0.isEmpty }[0]
  }

  /// Waits until nobody can answer any more.
  func release() async throws {
    try await releases.wait { !$0.isEmpty }
  }

  private func callback() -> @Sendable (Result<Outcome, any Error>) -> Void {
    let token = Token { [releases] in releases.append(()) }
    return { [results] result in
      results.append(result)
      withExtendedLifetime(token) {}
    }
  }

  /// Tells when it is released, which is when the continuation is.
  private final class Token: Sendable {
    private let onRelease: @Sendable () -> Void

    init(onRelease: @escaping @Sendable () -> Void) {
      self.onRelease = onRelease
    }

    deinit { onRelease() }
  }
}

extension KeyCall {
  /// The continuation of a load; it may be made once.
  func loadContinuation<Value>() -> LoadContinuation<Value> where Outcome == Value? {
    LoadContinuation(report: { [misuses] in misuses.append($0) }, callback: callback())
  }
}

extension KeyCall<Void> {
  /// The continuation of a save; it may be made once.
  func saveContinuation() -> SaveContinuation {
    SaveContinuation(report: { [misuses] in misuses.append($0) }, callback: callback())
  }
}
