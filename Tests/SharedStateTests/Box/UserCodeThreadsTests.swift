@testable import SharedStateDependencies
import Testing

@testable import SharedState

/// When another thread is started, as a transcript.
@Suite("Threads for user code", .timeLimit(.minutes(5)))
struct UserCodeThreadsTests {
  private struct Code: UserCode {
    var name: String { "code" }
    var notifiesObservers = false
    func run() -> Bool { false }
    func isSlow() {}
    func isBlocked() {}
  }

  /// Threads of which the first runs a piece, while another one waits.
  private func busy() -> (state: UserCodeThreads.State, thread: Int) {
    var state = UserCodeThreads.State()
    let isFirst = state.beginFirst()
    let thread = state.begin(nil)
    for _ in 0..<2 { state.waiting.append(Code()) }
    #expect(isFirst && state.next(for: thread) != nil)
    return (state, thread)
  }

  @Test("The third tick that finds a piece running starts another thread")
  func slow() {
    var (state, _) = busy()
    let looks = (0..<4).map { _ in state.look([:], now: .now) }
    #expect(looks.map(\.startsThread) == [false, false, true, false])
    #expect(looks.map(\.slow.count) == [0, 0, 1, 0])
    #expect(state.threads == 2)
  }

  @Test(
    "Time in which a thread waits for a processor does not make its piece too slow",
    arguments: [true, false]
  )
  func waitsForAProcessor(hasEnded: Bool) {
    var (state, thread) = busy()
    var now = ContinuousClock.now
    // The system counts a wait when it has ended; until then, the thread has just not run.
    var times = SystemThread.Times(running: .zero, waiting: .zero, isRunnable: !hasEnded)
    for _ in 0..<20 {
      let look = state.look([thread: times], now: now)
      #expect(!look.startsThread && look.slow.isEmpty)
      now += ThreadWatch.tick
      if hasEnded { times.waiting += ThreadWatch.tick }
    }
    // From now on it blocks.
    times.isRunnable = false
    let looks = (0..<3).map { _ in
      now += ThreadWatch.tick
      return state.look([thread: times], now: now)
    }
    let startsThread = looks.contains { $0.startsThread }
    #expect(startsThread)
  }

  @Test("A piece that computes on its processor is slow")
  func computes() {
    var (state, thread) = busy()
    let start = ContinuousClock.now
    let looks = (0..<3).map { number in
      let time = ThreadWatch.tick * number
      let times = SystemThread.Times(running: time, waiting: .zero, isRunnable: true)
      return state.look([thread: times], now: start + time)
    }
    #expect(looks.map(\.startsThread) == [false, false, true])
  }

  @Test("The system tells what a thread does")
  func system() throws {
    let thread = try #require(SystemThread.current as SystemThread?)
    let before = try #require(thread.times)
    #expect(before.isRunnable && before.running > .zero)
    var sum = 0
    repeat { sum += 1 } while (thread.times?.running ?? .zero) == before.running && sum < 1_000_000
    #expect((thread.times?.running ?? .zero) > before.running)
  }

  @Test("Observers beyond their bound wait for other observers, and for nothing else")
  func observers() {
    var state = UserCodeThreads.State()
    let threads = (0..<UserCodeThreads.maximumObservers + 1).map { _ in state.begin(nil) }
    for _ in threads { state.waiting.append(Code(notifiesObservers: true)) }
    state.waiting.append(Code())
    let pieces = threads.map { state.next(for: $0)?.notifiesObservers }
    #expect(pieces.dropLast().allSatisfy { $0 == true } && pieces.last == false)
    #expect(state.heldObservers.count == 1)
  }
}
