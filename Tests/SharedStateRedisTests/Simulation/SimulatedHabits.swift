@testable import SharedStateRedis

/// What one schedule does often, and what it does not do at all.
///
/// A schedule that does a bit of everything rarely does two rare things in a row. Source: Groce et al., "Swarm Testing",
/// ISSTA 2012.
struct SimulatedHabits {
  enum Disturbance: CaseIterable {
    case cut, loseReplies, loseCommitReply, stall, refuseConnections, refuseWrites, refuseTracking, demote, recover
    case dropMessage, duplicateMessage, reorderMessages
    case outsider, unreadable, foreignSet, foreignDelete, foreignExpire, foreignType, foreignFlush
    case snapshot, failOver, loseData, evict, restartService
    case time, longPause, clockJump
  }

  enum Use: CaseIterable {
    case share, mutate, save, load, flush, drop, update, reset, cancel
  }

  /// Whether the server is short of memory. It takes whatever is deleted for evicted then, so nobody deletes.
  let evicts: Bool
  /// As often as each is to happen.
  let disturbances: [Disturbance]
  let uses: [Use]
  /// Whether everybody is connected, and has a share, before anything goes wrong.
  let startsCalmly: Bool
  /// One in so many steps is a disturbance.
  let patience: Int
  /// One in so many of the others is done by the program.
  let calmness: Int

  init(using random: inout SplitMix64) {
    let evicts = Int.random(in: 0..<4, using: &random) == 0
    self.evicts = evicts
    disturbances = Self.mixture(Disturbance.allCases, often: [0, 0, 1, 4], &random).filter {
      switch $0 {
      case .foreignDelete, .foreignExpire, .foreignFlush: !evicts
      case .evict: evicts
      default: true
      }
    }
    uses = Self.mixture(Use.allCases, often: [0, 1, 1, 4], &random)
    startsCalmly = Bool.random(using: &random)
    patience = [4, 8, 16, 40].randomElement(using: &random) ?? 8
    calmness = [3, 5, 10].randomElement(using: &random) ?? 5
  }

  private static func mixture<Element>(
    _ elements: [Element],
    often: [Int],
    _ random: inout SplitMix64
  ) -> [Element] {
    elements.flatMap { Array(repeating: $0, count: often.randomElement(using: &random) ?? 1) }
  }
}
