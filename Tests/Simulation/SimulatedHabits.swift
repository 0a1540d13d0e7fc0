import SharedStateDependencies
@testable import SharedStateRedis

/// The actions that one schedule performs often, and those that it does not perform at all.
///
/// A schedule that does a bit of everything rarely does two rare things in a row. Source: Groce et al., "Swarm
/// Testing", ISSTA 2012.
struct SimulatedHabits {
  enum Disturbance {
    case cut, loseReplies, breakAtCommit, poison, stall, refuseConnections, refuseWrites, refuseTracking
    case demote, recover, announceMove
    case dropMessage, duplicateMessage, reorderMessages
    case forgeMessage, replayMessage, loseSecret, forgeMeta, forbid, permit
    case outsider, unreadable, foreignSet, foreignDelete, foreignExpire, foreignType, foreignFlush
    case snapshot, failOver, loseData, evict, restartService
    case time, longPause, clockJump

    /// Any of these may happen beside any other.
    static let anywhere: [Self] = [
      .cut, .loseReplies, .breakAtCommit, .poison, .stall, .refuseConnections, .refuseWrites, .refuseTracking,
      .demote, .recover,
      .dropMessage, .duplicateMessage, .reorderMessages,
      .forgeMessage, .replayMessage, .loseSecret, .forgeMeta, .forbid, .permit,
      .outsider, .unreadable, .foreignSet, .foreignDelete, .foreignExpire, .foreignType, .foreignFlush,
      .snapshot, .failOver, .loseData, .evict, .restartService,
      .time, .longPause, .clockJump,
    ]
  }

  enum Use: CaseIterable {
    case share, mutate, hold, save, load, flush, drop, update, reset, cancel
  }

  /// Whether the server is short of memory. A service that has not seen a value since the last eviction takes its
  /// deletion for an eviction, so such a value is not deleted. Nothing expires, and there is no FLUSHALL.
  let evicts: Bool
  /// The disturbances to choose from. One that is listed twice happens twice as often.
  let disturbances: [Disturbance]
  let uses: [Use]
  /// Whether every service is connected, and has a share, before anything goes wrong.
  let startsCalmly: Bool
  /// One in this many steps is a disturbance.
  let patience: Int
  /// One in this many of the other steps is a call of the program.
  let calmness: Int

  init(using random: inout SplitMix64) {
    let evicts = Int.random(in: 0..<4, using: &random) == 0
    // Failures of an interrupted commit need several rare events in a row.
    let isAboutCommits = Int.random(in: 0..<4, using: &random) == 0
    // So do failures of a history that forks.
    let isAboutFailovers = !isAboutCommits && Int.random(in: 0..<4, using: &random) == 0
    self.evicts = evicts
    let disturbances: [Disturbance] =
      isAboutCommits
      ? [.breakAtCommit, .breakAtCommit, .poison, .cut, .outsider, .evict, .time]
      : isAboutFailovers
        ? [.failOver, .failOver, .announceMove, .cut, .outsider, .evict, .time, .restartService, .loseReplies]
        : Self.mixture(Disturbance.anywhere, &random)
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

  /// Returns a bit of everything, or a few elements many times.
  private static func mixture<Element>(_ elements: [Element], _ random: inout SplitMix64) -> [Element] {
    let often = Bool.random(using: &random) ? [0, 1, 1, 4] : [0, 0, 0, 1]
    return elements.flatMap { Array(repeating: $0, count: often.randomElement(using: &random) ?? 1) }
  }
}
