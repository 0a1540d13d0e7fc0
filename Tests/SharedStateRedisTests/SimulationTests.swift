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
        Issue.record("Seed \(seed): \(violations). See what happens with: make soak-simulation SOAK='--seed \(seed)'")
        return
      }
    }
  }

  @Test("every guarantee holds in every order of events of a small world", arguments: [true, false], [true, false])
  func everyOrder(isCut: Bool, isEdited: Bool) throws {
    let exploration = Exploration(of: try SmallWorld(isCut: isCut, isEdited: isEdited))
    if let (text, steps) = exploration.violation { Issue.record("\(text), after \(steps)") }
    #expect(exploration.states > 100)
    print("\(exploration.states) states, \(exploration.interleavings) orders of events.")
  }
}
