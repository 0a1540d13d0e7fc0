import SharedStateDependencies
@testable import SharedStateRedis

/// What one schedule does often, and what it does not do at all.
///
/// A schedule that does a bit of everything rarely does two rare things in a row. Source: Groce et al., "Swarm Testing",
/// ISSTA 2012.
struct SimulatedHabits {
  enum Disturbance: CaseIterable {
    case cut, loseReplies, breakAtCommit, poison, stall, refuseConnections, refuseWrites, refuseTracking
    case demote, recover
    case dropMessage, duplicateMessage, reorderMessages
    case forgeMessage, forgeMeta, forbid, permit
    case outsider, unreadable, foreignSet, foreignDelete, foreignExpire, foreignType, foreignFlush
    case snapshot, failOver, loseData, evict, restartService
    case time, longPause, clockJump
  }

  enum Use: CaseIterable {
    case share, mutate, hold, save, load, flush, drop, update, reset, cancel
  }

  /// Whether the server is short of memory. Whoever has not seen a value since it threw something away takes a deletion
  /// for that, so nothing is deleted then. Nothing expires, and there is no FLUSHALL.
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
    // What goes wrong with a commit that is cut off takes several rare things in a row.
    let isAboutCommits = Int.random(in: 0..<4, using: &random) == 0
    // So does a history that parts in two.
    let isAboutFailovers = !isAboutCommits && Int.random(in: 0..<4, using: &random) == 0
    self.evicts = evicts
    let disturbances: [Disturbance] =
      isAboutCommits
      ? [.breakAtCommit, .breakAtCommit, .poison, .cut, .outsider, .evict, .time]
      : isAboutFailovers
        ? [.failOver, .failOver, .cut, .outsider, .evict, .time, .restartService, .loseReplies]
        : Self.mixture(Disturbance.allCases, &random)
    self.disturbances = disturbances.filter {
      switch $0 {
      case .foreignExpire, .foreignFlush: !evicts
      case .evict: evicts
      default: true
      }
    }
    uses =
      isAboutCommits
      ? [.update, .update, .cancel, .mutate]
      : isAboutFailovers ? [.mutate, .mutate, .save, .reset] : Self.mixture(Use.allCases, &random)
    startsCalmly = Bool.random(using: &random)
    patience = [4, 8, 16, 40].randomElement(using: &random) ?? 8
    calmness = [3, 5, 10].randomElement(using: &random) ?? 5
  }

  /// A bit of everything, or a few things again and again.
  private static func mixture<Element>(_ elements: [Element], _ random: inout SplitMix64) -> [Element] {
    let often = Bool.random(using: &random) ? [0, 1, 1, 4] : [0, 0, 0, 1]
    return elements.flatMap { Array(repeating: $0, count: often.randomElement(using: &random) ?? 1) }
  }
}
