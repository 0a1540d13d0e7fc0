import SharedState

/// One call of a key, which has to answer it exactly once.
final class KeyCall<Outcome: Sendable>: Sendable {
  private let results = Journal<Result<Outcome, any Error>>()
  private let releases = Journal<Void>()

  /// The mistakes in the way the key answered.
  let misuses = Journal<String>()

  /// Waits for the first answer.
  func outcome() async throws -> Result<Outcome, any Error> {
    try await results.wait { !$0.isEmpty }[0]
  }

  /// Waits until the continuation is released, so that no further answer is possible.
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

  /// Calls a closure when it is released, which is when the continuation is released.
  private final class Token: Sendable {
    private let onRelease: @Sendable () -> Void

    init(onRelease: @escaping @Sendable () -> Void) {
      self.onRelease = onRelease
    }

    deinit { onRelease() }
  }
}

extension KeyCall {
  /// Makes the continuation of a load; call it once.
  func loadContinuation<Value>() -> LoadContinuation<Value> where Outcome == Value? {
    LoadContinuation(report: { [misuses] in misuses.append($0) }, callback: callback())
  }
}

extension KeyCall<Void> {
  /// Makes the continuation of a save; call it once.
  func saveContinuation() -> SaveContinuation {
    SaveContinuation(report: { [misuses] in misuses.append($0) }, callback: callback())
  }
}
