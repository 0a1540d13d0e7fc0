import Testing

@testable import SharedStateRedis

@Suite("Reconnecting", .timeLimit(.minutes(5)))
struct ReconnectionTests {
  @Test("Services that lose their server at the same moment reconnect at different moments")
  func spread() {
    let now = Instant.now
    for failures in [1, 5, 20] {
      let waits = (1...200).compactMap { seed -> Duration? in
        var state = LinkState(configuration: LinkState.make().configuration, seed: UInt64(seed))
        state.start()
        var lost = now
        for failure in 1...failures {
          state.failed(epoch: state.session.epoch, error: .lost, now: lost)
          guard case .backingOff(let until) = state.session.phase else { return nil }
          if failure == failures { return until - lost }
          lost = until
          _ = state.instruction(now: lost)
        }
        return nil
      }
      #expect(waits.count == 200)
      let backoff = RedisConfiguration.Backoff()
      let longest = min(backoff.cap, backoff.base * (1 << min(failures - 1, 20)))
      // An even spread would have 50 in each quarter.
      for quarter in 0..<4 {
        let range = longest * quarter / 4..<longest * (quarter + 1) / 4
        #expect((25...75).contains(waits.count { range.contains($0) }))
      }
    }
  }
}
