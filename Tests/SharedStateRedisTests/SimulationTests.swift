import Testing

@Suite("A simulation of services on one server")
struct SimulationTests {
  private static let schedules: UInt64 = 3_000

  @Test("Ordered, NoEcho, Converges, PendingSurvives: whatever the schedule", arguments: 0..<2 as Range<UInt64>)
  func guarantees(_ part: UInt64) {
    for seed in part * Self.schedules / 2..<(part + 1) * Self.schedules / 2 {
      let violations = Simulation(seed: seed).run(steps: 250)
      guard violations.isEmpty else {
        Issue.record("The schedule of seed \(seed) breaks a guarantee: \(violations)")
        return
      }
    }
  }
}
