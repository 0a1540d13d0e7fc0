/// Who asks a key to save its value.
public enum SaveContext: Hashable, Sendable {
  /// A mutation.
  case didSet

  /// An explicit `save()`. What is stored and cannot be read stays: an author throws an error then.
  case userInitiated

  /// An explicit `save(replacingUnreadable: true)`: it replaces what is stored, whatever that is.
  case replacingUnreadable
}

/// How a key tells that it has saved a value. Resume it exactly once, from any thread, now or later.
public struct SaveContinuation: Sendable {
  private let oneShot: OneShot<Void>

  /// Makes a continuation; useful to test a key, or to build one on top of another.
  ///
  /// - Parameters:
  ///   - description: What to call it when it is resumed twice, or never.
  ///   - callback: Takes the outcome.
  public init(
    _ description: String = "A SaveContinuation",
    callback: @escaping @Sendable (Result<Void, any Error>) -> Void
  ) {
    oneShot = OneShot(description, callback: callback)
  }

  /// Makes a continuation that reports its misuse elsewhere: issues that are reported on a thread are lost to a test.
  package init(
    report: @escaping @Sendable (String) -> Void,
    callback: @escaping @Sendable (Result<Void, any Error>) -> Void
  ) {
    oneShot = OneShot("A SaveContinuation", report: report, callback: callback)
  }

  /// Says that the value is kept.
  public func resume() {
    resume(with: .success(()))
  }

  /// Says that saving failed. The value stays as it is, unsaved.
  public func resume(throwing error: any Error) {
    resume(with: .failure(error))
  }

  /// Says how it went.
  public func resume(with result: Result<Void, any Error>) {
    oneShot.resume(with: result)
  }
}
