import Testing

@Suite("A simulation of services on one server")
struct SimulationTests {
  private static let schedules: UInt64 = 20_000
  private static let parts: UInt64 = 8

  @Test("every guarantee holds, whatever the schedule", arguments: 0..<parts)
  func guarantees(_ part: UInt64) {
    for seed in part * Self.schedules / Self.parts..<(part + 1) * Self.schedules / Self.parts {
      let violations = Simulation(seed: seed).run()
      guard violations.isEmpty else {
        Issue.record("Seed \(seed): \(violations). See what happens with: make soak SOAK='--seed \(seed)'")
        return
      }
    }
  }
}
