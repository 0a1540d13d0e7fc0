/// The occasion on which a key is asked to load its value.
public enum LoadContext<Value> {
  /// The first use of the key; the associated value is its default.
  case initialValue(Value)

  /// An explicit `load()`.
  case userInitiated

  /// The default, when this is the first use of the key.
  public var initialValue: Value? {
    guard case .initialValue(let value) = self else { return nil }
    return value
  }
}

extension LoadContext: Sendable where Value: Sendable {}
extension LoadContext: Equatable where Value: Equatable {}
extension LoadContext: Hashable where Value: Hashable {}

/// Takes what a key has loaded. Resume it exactly once, from any thread, now or later.
public struct LoadContinuation<Value: Sendable>: Sendable {
  private let oneShot: OneShot<Value?>

  /// Makes a continuation; useful to test a key, or to build one key on another.
  ///
  /// - Parameters:
  ///   - description: Names the continuation in the issue when it is resumed twice, or never.
  ///   - callback: Takes the loaded value; `nil` when nothing is stored.
  public init(
    _ description: String = "A LoadContinuation",
    callback: @escaping @Sendable (Result<Value?, any Error>) -> Void
  ) {
    oneShot = OneShot(description, callback: callback)
  }

  /// Makes a continuation that reports its misuse to a closure, because a test misses issues that are reported on a
  /// thread.
  package init(
    report: @escaping @Sendable (String) -> Void,
    callback: @escaping @Sendable (Result<Value?, any Error>) -> Void
  ) {
    oneShot = OneShot("A LoadContinuation", report: report, callback: callback)
  }

  /// Resumes with a value.
  public func resume(returning value: Value) {
    resume(with: .success(value))
  }

  /// Reports that nothing is stored, so that the value is the default.
  public func resumeReturningInitialValue() {
    resume(with: .success(nil))
  }

  /// Reports that loading failed. The present value stays.
  public func resume(throwing error: any Error) {
    resume(with: .failure(error))
  }

  /// Resumes with a result; `nil` means that nothing is stored.
  public func resume(with result: Result<Value?, any Error>) {
    oneShot.resume(with: result)
  }
}
