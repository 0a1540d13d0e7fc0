import SharedStateDependencies
@testable import SharedStateRedis

/// The actions that one schedule performs often, and those that it does not perform at all.
///
/// A schedule that does a bit of everything rarely does two rare things in a row. Source: Groce et al., "Swarm
/// Testing", ISSTA 2012.
struct SimulatedHabits {
  enum Disturbance {
    case cut, loseReplies, breakAtCommit, poison, stall, refuseConnections, refuseWrites, refuseTracking
    case demote, recover, announceMove, backUp
    case dropMessage, duplicateMessage, reorderMessages
    case forgeMessage, replayMessage, loseSecret, forgeMeta, forbid, permit
    case outsider, unreadable, foreignSet, foreignDelete, foreignExpire, foreignType, foreignFlush
    case snapshot, failOver, loseData, tear, evict, restartService
    case time, longPause, clockJump

    /// Any of these may happen beside any other.
    static let anywhere: [Self] = [
      .cut, .loseReplies, .breakAtCommit, .poison, .stall, .refuseConnections, .refuseWrites, .refuseTracking,
      .demote, .recover, .backUp,
      .dropMessage, .duplicateMessage, .reorderMessages,
      .forgeMessage, .replayMessage, .loseSecret, .forgeMeta, .forbid, .permit,
      .outsider, .unreadable, .foreignSet, .foreignDelete, .foreignExpire, .foreignType, .foreignFlush,
      .snapshot, .failOver, .loseData, .evict, .restartService,
      .time, .longPause, .clockJump,
    ]

    /// Whether it may concern a former primary as well.
    var happensAnywhere: Bool {
      switch self {
      case .demote, .recover, .snapshot, .failOver, .loseData, .tear: false
      default: true
      }
    }
  }

  enum Use: CaseIterable {
    case share, mutate, hold, save, load, flush, drop, update, reset, cancel
  }

  /// What a schedule is about. Some failures need several rare events in a row.
  enum Theme {
    case anything
    /// Commits that are interrupted.
    case commits
    /// A history that forks.
    case failovers
    /// A history that forks, and goes on on both sides.
    case twoPrimaries

    init(using random: inout SplitMix64) {
      if Int.random(in: 0..<4, using: &random) == 0 {
        self = .commits
      } else if Int.random(in: 0..<4, using: &random) == 0 {
        self = Bool.random(using: &random) ? .failovers : .twoPrimaries
      } else {
        self = .anything
      }
    }
  }

  let theme: Theme
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
  /// The number of steps before the schedule ends its disturbances.
  let steps: Int

  init(using random: inout SplitMix64) {
    evicts = Int.random(in: 0..<4, using: &random) == 0
    theme = Theme(using: &random)
    let disturbances: [Disturbance]
    switch theme {
    case .commits:
      disturbances = [.breakAtCommit, .breakAtCommit, .poison, .cut, .outsider, .evict, .time]
      uses = [.update, .update, .cancel, .mutate]
    case .failovers:
      disturbances = [
        .failOver, .failOver, .announceMove, .cut, .outsider, .evict, .time, .restartService, .loseReplies,
      ]
      uses = [.mutate, .mutate, .save, .reset]
    case .twoPrimaries:
      disturbances = [
        .tear, .tear, .tear, .tear, .tear, .time, .time, .time, .time, .announceMove, .cut, .outsider, .evict,
        .restartService, .loseReplies, .breakAtCommit, .failOver,
      ]
      uses = [.mutate, .mutate, .mutate, .mutate, .update, .update, .update, .cancel, .save, .load, .reset]
    case .anything:
      disturbances = Self.mixture(Disturbance.anywhere, &random)
      uses = Self.mixture(Use.allCases, &random)
    }
    self.disturbances = disturbances.filter { [evicts] in
      switch $0 {
      case .foreignExpire, .foreignFlush: !evicts
      case .evict: evicts
      default: true
      }
    }
    // Both primaries have to be used for a while.
    let isLong = theme == .twoPrimaries
    startsCalmly = Bool.random(using: &random) || isLong
    patience = (isLong ? [30, 60] : [4, 8, 16, 40]).randomElement(using: &random) ?? 8
    calmness = (isLong ? [8, 16] : [3, 5, 10]).randomElement(using: &random) ?? 5
    steps = (isLong ? [400, 800] : [25, 50, 100, 200]).randomElement(using: &random) ?? 50
  }

  var countsOfServices: ClosedRange<Int> { theme == .twoPrimaries ? 2...3 : 1...3 }
  var countsOfNames: ClosedRange<Int> { theme == .twoPrimaries ? 1...1 : 1...3 }

  /// Returns a bit of everything, or a few elements many times.
  private static func mixture<Element>(_ elements: [Element], _ random: inout SplitMix64) -> [Element] {
    let often = Bool.random(using: &random) ? [0, 1, 1, 4] : [0, 0, 0, 1]
    return elements.flatMap { Array(repeating: $0, count: often.randomElement(using: &random) ?? 1) }
  }
}
