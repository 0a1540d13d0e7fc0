import Synchronization

/// A generator of random numbers that many draw from, on any thread.
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
    // The generator is user code, and is called without the lock: whoever was overtaken draws again.
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
