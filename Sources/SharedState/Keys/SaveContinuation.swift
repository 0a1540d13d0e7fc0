/// The occasion on which a key is asked to save its value.
public enum SaveContext: Hashable, Sendable {
  /// A mutation.
  case didSet

  /// An explicit `save()`. A stored document that cannot be read has to stay: the key throws an error then.
  case userInitiated

  /// An explicit `save(replacingUnreadable: true)`: it replaces whatever is stored.
  case replacingUnreadable
}

/// Takes the outcome of a save from a key. Resume it exactly once, from any thread, now or later.
public struct SaveContinuation: Sendable {
  private let oneShot: OneShot<Void>

  /// Makes a continuation; useful to test a key, or to build one key on another.
  ///
  /// - Parameters:
  ///   - description: Names the continuation in the issue when it is resumed twice, or never.
  ///   - callback: Takes the outcome.
  public init(
    _ description: String = "A SaveContinuation",
    callback: @escaping @Sendable (Result<Void, any Error>) -> Void
  ) {
    oneShot = OneShot(description, callback: callback)
  }

  /// Makes a continuation that reports its misuse to a closure, because a test misses issues that are reported on a
  /// thread.
  package init(
    report: @escaping @Sendable (String) -> Void,
    callback: @escaping @Sendable (Result<Void, any Error>) -> Void
  ) {
    oneShot = OneShot("A SaveContinuation", report: report, callback: callback)
  }

  /// Reports that the value is kept.
  public func resume() {
    resume(with: .success(()))
  }

  /// Reports that saving failed. The value stays as it is, unsaved.
  public func resume(throwing error: any Error) {
    resume(with: .failure(error))
  }

  /// Reports the outcome.
  public func resume(with result: Result<Void, any Error>) {
    oneShot.resume(with: result)
  }
}
