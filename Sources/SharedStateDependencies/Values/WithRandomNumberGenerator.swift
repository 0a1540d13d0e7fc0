import Synchronization

/// Lends a generator of random numbers, as the dependency `withRandomNumberGenerator`.
///
/// ```swift
/// @Dependency(\.withRandomNumberGenerator) var withRandomNumberGenerator
/// let dice = withRandomNumberGenerator { Int.random(in: 1...6, using: &$0) }
/// ```
///
/// In a test, override it with `$0.withRandomNumberGenerator = .seeded(1)`.
public struct WithRandomNumberGenerator: Sendable {
  private let generator: LentGenerator

  /// Lends a generator, from which all users of the dependency draw in turn.
  public init(_ generator: some RandomNumberGenerator & Sendable) {
    self.generator = LentGenerator(generator)
  }

  /// A generator that returns the same numbers for the same seed, in every process and release.
  public static func seeded(_ seed: UInt64) -> Self {
    Self(SplitMix64(seed: seed))
  }

  /// Runs a closure with the generator. Other users may draw meanwhile; each draw is used once.
  /// - Returns: The result of the closure.
  /// - Throws: The error of the closure.
  public func callAsFunction<Result>(
    _ work: (inout any RandomNumberGenerator & Sendable) throws -> Result
  ) rethrows -> Result {
    var generator: any RandomNumberGenerator & Sendable = generator
    return try work(&generator)
  }
}

extension DependencyValues {
  /// Lends a generator of random numbers. A test that does not override it fails when it uses it.
  public var withRandomNumberGenerator: WithRandomNumberGenerator {
    get { self[WithRandomNumberGeneratorKey.self] }
    set { self[WithRandomNumberGeneratorKey.self] = newValue }
  }

  private enum WithRandomNumberGeneratorKey: DependencyKey {
    static var liveValue: WithRandomNumberGenerator { WithRandomNumberGenerator(SystemRandomNumberGenerator()) }
  }
}

/// A generator of random numbers that is shared by many users, on any thread.
final class LentGenerator: RandomNumberGenerator, Sendable {
  private struct State {
    var generator: any RandomNumberGenerator & Sendable
    var draws: UInt64 = 0
  }

  private let state: Mutex<State>

  init(_ generator: any RandomNumberGenerator & Sendable) {
    state = Mutex(State(generator: generator))
  }

  func next() -> UInt64 {
    // The generator is user code, and is called without the lock: a caller that was overtaken draws again.
    while true {
      var (generator, draws) = state.withLock { ($0.generator, $0.draws) }
      let number = generator.next()
      let isOurs = state.withLock { state in
        guard state.draws == draws else { return false }
        state = State(generator: generator, draws: draws + 1)
        return true
      }
      if isOurs { return number }
    }
  }
}
