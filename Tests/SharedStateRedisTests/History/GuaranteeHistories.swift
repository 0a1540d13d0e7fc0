import SharedStateRedisTesting

/// For each guarantee, a history in which it holds, and histories that break it. All are as short as possible.
enum GuaranteeHistories {
  typealias Event = RedisHistory.Event

  static let a = RedisHistory.Box(service: "a", name: "config")
  static let b = RedisHistory.Box(service: "b", name: "config")

  /// The history contains every commit of the value.
  static let watched = Event.declared(name: "config", RedisHistory.Rules(isWatched: true))
  static let opened = Event.opened(a, default: ["limit": "10"], owns: [])

  static func shown(_ limit: Int, _ revision: UInt64, in box: RedisHistory.Box = a) -> Event {
    .shown(box, ["limit": "\(limit)"], revision: revision, isFromOutside: true)
  }

  static func changed(_ limit: Int, number: Int, in box: RedisHistory.Box = a) -> Event {
    .changed(box, number: number, ["limit": "\(limit)"])
  }

  static func stored(_ revision: UInt64, _ document: RedisHistory.Document) -> RedisHistory.Stored {
    RedisHistory.Stored(revision: revision, .document(document))
  }

  /// A change of `a` that the server has taken.
  static func committed(
    _ document: RedisHistory.Document,
    _ revision: UInt64,
    over before: RedisHistory.Stored = .init(revision: 0, .absent),
    cause: RedisHistory.Commit.Cause = .change(through: 1),
    condition: RedisHistory.Commit.Condition = .revision,
    base: RedisHistory.Stored.Content? = nil,
    changes: RedisHistory.Document? = nil,
    increments: [String: Int] = [:],
    origin: RedisHistory.Document? = nil
  ) -> Event {
    let after = stored(revision, document)
    return .committed(
      RedisHistory.Commit(
        of: a,
        to: "config",
        cause: cause,
        condition: condition,
        base: base ?? before.content,
        changes: changes,
        increments: increments,
        origin: origin.map { .document($0) },
        before: before,
        after: after
      )
    )
  }

  /// A change by a service that is not watched.
  static func committedByAnother(_ limit: Int, _ revision: UInt64) -> Event {
    committedByAnother(["limit": "\(limit)"], revision)
  }

  static func committedByAnother(_ document: RedisHistory.Document, _ revision: UInt64) -> Event {
    let nothing = RedisHistory.Stored(revision: 0, .absent)
    let after = stored(revision, document)
    return .committed(
      RedisHistory.Commit(of: nil, to: "config", cause: .change(through: 0), before: nothing, after: after)
    )
  }

  /// At rest, the server has `document` at `revision`, and `a` holds `held`.
  static func rested(
    _ revision: UInt64,
    _ document: RedisHistory.Document,
    _ held: RedisHistory.Document,
    at known: UInt64? = nil,
    keys: [String]? = nil
  ) -> Event {
    let rest = RedisHistory.Rest(
      stored: ["config": stored(revision, document)],
      boxes: [RedisHistory.Rest.Held(a, held, revision: known)],
      keys: keys
    )
    return .rested(rest)
  }

  /// A history in which every guarantee holds.
  static func fine(_ guarantee: RedisHistory.Guarantee) -> [Event] {
    switch guarantee {
    case .ordered:
      [watched, opened, committedByAnother(20, 5), shown(20, 5), committedByAnother(30, 7), shown(30, 7), shown(30, 7)]
    case .noEcho:
      [
        watched, opened, changed(20, number: 1), committed(["limit": "20"], 5),
        .acknowledged(a, through: 1, revision: 5), committedByAnother(30, 6), shown(30, 6),
      ]
    case .converges: [opened, rested(5, ["limit": "20", "unknown": "1"], ["limit": "20"])]
    case .pendingSurvives:
      [
        watched, opened, changed(20, number: 1), committed(["limit": "20"], 5), .saved(a, through: 1),
        changed(30, number: 2), .conceded(a, through: 2), .stored(a), .flushed(service: "a", reportsGivenUp: false),
        rested(5, ["limit": "20"], ["limit": "20"]),
      ]
    case .acknowledgedSurvives:
      [
        opened, shown(20, 5), .lost,
        committed(["limit": "20"], 5, cause: .restoration), rested(5, ["limit": "20"], ["limit": "20"]),
      ]
    case .exactlyOnceUpdates:
      [
        watched, opened, .updateBegan(a, number: 1, changes: true), committed(["limit": "11"], 5, cause: .updates([1])),
        .updateEnded(a, number: 1, .succeeded(nil)), .updateBegan(a, number: 2, changes: true), .replaced,
        .updateEnded(a, number: 2, .unknown), .updateBegan(a, number: 3, changes: true),
        .updateEnded(a, number: 3, .failed),
      ]
    case .fieldsMerge:
      [
        opened,
        committed(
          ["limit": "20", "unknown": "1"],
          6,
          over: stored(5, ["limit": "10", "unknown": "1"]),
          changes: ["limit": "20"]
        ),
        committed(
          ["limit": "20", "list[1].n": "2", "list[1].m": "1", "list[3].n": "1", "set[2]": "true", "sum": "9"],
          7,
          over: stored(6, ["limit": "20", "list[2].n": "1", "list[3].n": "1", "set[2]": "true", "sum": "8"]),
          changes: ["list[1].n": "2", "list[2].n": "null", "list[2].m": "null"],
          increments: ["sum": 1],
          origin: ["limit": "20", "list[1].n": "1", "list[1].m": "1", "list[2].n": "1", "set[1]": "true", "sum": "5"]
        ),
      ]
    case .foreignEditsSeen:
      [
        opened, rested(5, ["limit": "10"], ["limit": "10"], at: 5), .edited(name: "config", ["limit": "20"], nil),
        committed(["limit": "20"], 6, over: stored(5, ["limit": "20"]), cause: .adoption),
        rested(6, ["limit": "20"], ["limit": "20"], at: 6),
      ]
    case .badDataHeld:
      [
        opened, .edited(name: "config", [:], nonsense),
        committed(["limit": "20"], 6, over: nonsense, condition: .replacing),
      ]
    case .fair:
      [opened] + Array(repeating: Event.conflicted(a), count: 20) + [committed(["limit": "20"], 5), .conflicted(a)]
    case .isolated:
      [
        opened, .permitted(["shop:*"], others: ["other"]), .touched(service: "a", ["shop:config"]),
        rested(5, ["limit": "10"], ["limit": "10"], keys: ["other", "shop:config"]),
      ]
    case .bounded:
      [opened, .kept(service: "a", RedisHistory.Load(values: 1, changes: 1, queued: 3, limit: 3))]
    }
  }

  static let nonsense = RedisHistory.Stored(revision: 5, .unreadable("nonsense"))
}
