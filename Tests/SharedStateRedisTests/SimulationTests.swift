import Foundation
import Testing

@testable import Simulation

@Suite("A simulation of services on one server", .timeLimit(.minutes(20)))
struct SimulationTests {
  private static let schedules: UInt64 = 2_000
  private static let parts: UInt64 = 4

  @Test("Every guarantee holds in every simulated schedule", arguments: 0..<parts)
  func guarantees(_ part: UInt64) async {
    let seeds = part * Self.schedules / Self.parts..<(part + 1) * Self.schedules / Self.parts
    let failure = await aside { () -> String? in
      for seed in seeds {
        let violations = Simulation(seed: seed).run()
        if !violations.isEmpty {
          return "Seed \(seed): \(violations). See what happens with: make soak-simulation SOAK='--seed \(seed)'"
        }
      }
      return nil
    }
    if let failure { Issue.record("\(failure)") }
  }

  @Test("Every guarantee holds in every order of events in a small world", arguments: SmallWorld.Scope.few)
  func everyOrder(_ scope: SmallWorld.Scope) async throws {
    let world = try SmallWorld(scope)
    let exploration = await aside { Exploration(of: world) }
    if let (text, steps) = exploration.violation { Issue.record("\(text), after \(steps)") }
    #expect(exploration.states > 100)
    print(exploration)
  }

  /// Runs long work on its own thread with the lowest priority, because other tests, which wait for events, need the
  /// processors and the threads of tasks.
  private func aside<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in
      let thread = Thread {
        // On Linux this concerns only the calling thread.
        setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 19)
        continuation.resume(returning: body())
      }
      thread.stackSize = 8 << 20
      thread.start()
    }
  }
}
