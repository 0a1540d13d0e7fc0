import SharedStateRedisTesting
import Testing

/// A history that breaks exactly one guarantee.
struct BrokenHistory: CustomTestStringConvertible, Sendable {
  let guarantee: RedisHistory.Guarantee
  let how: String
  let events: [RedisHistory.Event]

  var testDescription: String { "\(guarantee.rawValue): \(how)" }

  private init(_ guarantee: RedisHistory.Guarantee, _ how: String, _ events: [RedisHistory.Event]) {
    self.guarantee = guarantee
    self.how = how
    self.events = events
  }
}

extension BrokenHistory {
  private typealias Is = GuaranteeHistories

  static let all = boxes + changes + elements + updates + others

  private static let boxes = [
    BrokenHistory(.ordered, "an older revision is shown", [Is.opened, Is.shown(30, 7), Is.shown(20, 5)]),
    BrokenHistory(
      .ordered,
      "a revision older than the box's own is shown",
      [Is.opened, .acknowledged(Is.a, through: 1, revision: 7), Is.shown(20, 5)]
    ),
    BrokenHistory(
      .ordered,
      "the server goes back",
      [Is.opened, Is.committed(["limit": "20"], 4, over: Is.stored(5, ["limit": "10"]))]
    ),
    BrokenHistory(
      .ordered,
      "a field that only grows shrinks",
      [
        .opened(Is.a, default: ["limit": "10"], owns: ["limit"]), Is.shown(20, 5), Is.shown(15, 6),
      ]
    ),
    BrokenHistory(
      .ordered,
      "a box shows under a revision a value that the revision never had",
      [Is.watched, Is.opened, Is.committedByAnother(20, 5), Is.committedByAnother(30, 6), Is.shown(30, 5)]
    ),
    BrokenHistory(
      .ordered,
      "a box shows that nothing is stored, although the revision has a value",
      [
        Is.watched, Is.opened, Is.committedByAnother(20, 5),
        .shown(Is.a, nil, revision: 5, isFromOutside: true),
      ]
    ),
    BrokenHistory(
      .noEcho,
      "a value from outside replaces a change that is not acknowledged",
      [Is.watched, Is.opened, Is.changed(20, number: 1), Is.committedByAnother(30, 6), Is.shown(30, 6)]
    ),
    BrokenHistory(
      .noEcho,
      "a service is notified of its own change",
      [
        Is.watched, Is.opened, Is.changed(20, number: 1), Is.committed(["limit": "20"], 5),
        .acknowledged(Is.a, through: 1, revision: 5), Is.shown(20, 5),
      ]
    ),
    BrokenHistory(.converges, "a box has another value", [Is.opened, Is.rested(5, ["limit": "20"], ["limit": "10"])]),
    BrokenHistory(
      .converges,
      "a box keeps a value that is no longer stored",
      [
        Is.opened,
        .rested(
          RedisHistory.Rest(
            stored: ["config": RedisHistory.Stored(revision: 5, .absent)],
            boxes: [RedisHistory.Rest.Held(Is.a, ["limit": "20"])]
          )
        ),
      ]
    ),
  ]

  private static let changes = [
    BrokenHistory(
      .pendingSurvives,
      "a change is never delivered",
      [Is.watched, Is.opened, Is.changed(20, number: 1), Is.rested(5, ["limit": "20"], ["limit": "20"])]
    ),
    BrokenHistory(
      .pendingSurvives,
      "a change is reported as saved before it is delivered",
      [Is.watched, Is.opened, Is.changed(20, number: 1), .saved(Is.a, through: 1)]
    ),
    BrokenHistory(
      .pendingSurvives,
      "everything is reported as saved, although a change was given up",
      [
        Is.watched, Is.opened, Is.changed(20, number: 1), .conceded(Is.a, through: 1),
        .flushed(service: "a", reportsGivenUp: false),
      ]
    ),
    BrokenHistory(
      .pendingSurvives,
      "the last value of a field that only this service changes is not stored",
      [
        .opened(Is.a, default: ["limit": "10"], owns: ["limit"]), Is.changed(20, number: 1),
        Is.rested(5, ["limit": "10"], ["limit": "10"]),
      ]
    ),
    BrokenHistory(
      .acknowledgedSurvives,
      "a saved change is not stored",
      [
        .opened(Is.a, default: ["limit": "10"], owns: ["limit"]), Is.changed(20, number: 1), .saved(Is.a, through: 1),
        Is.rested(5, ["limit": "10"], ["limit": "10"]),
      ]
    ),
    BrokenHistory(
      .acknowledgedSurvives,
      "a lost value is not restored",
      [Is.opened, Is.shown(20, 7), .lost, Is.rested(5, ["limit": "20"], ["limit": "20"])]
    ),
    BrokenHistory(
      .acknowledgedSurvives,
      "a value is restored that was never stored",
      [Is.watched, Is.opened, Is.committed(["limit": "20"], 5, cause: .restoration)]
    ),
    BrokenHistory(
      .acknowledgedSurvives,
      "the server loses a value but keeps its revision, and the value is not restored",
      [
        Is.watched, Is.opened, .changed(Is.a, number: 1, ["limit": "20"]), Is.committed(["limit": "20"], 5),
        .acknowledged(Is.a, through: 1, revision: 5), .lost, .evicted(name: "config"),
        .shown(Is.a, nil, revision: 5, isFromOutside: true),
        .rested(
          RedisHistory.Rest(
            stored: ["config": RedisHistory.Stored(revision: 5, .absent)],
            boxes: [RedisHistory.Rest.Held(Is.a, ["limit": "10"])]
          )
        ),
      ]
    ),
    BrokenHistory(
      .acknowledgedSurvives,
      "a value changes although no service has changed it",
      [
        Is.opened, Is.rested(5, ["limit": "20"], ["limit": "20"]), .replaced,
        Is.rested(6, ["limit": "30"], ["limit": "30"]),
      ]
    ),
    BrokenHistory(
      .fieldsMerge,
      "a commit erases a field that it was not made for",
      [
        Is.opened,
        Is.committed(
          ["limit": "20"],
          6,
          over: Is.stored(5, ["limit": "10", "unknown": "1"]),
          changes: ["limit": "20"]
        ),
      ]
    ),
    BrokenHistory(
      .fieldsMerge,
      "a commit is based on a document other than the stored one",
      [
        Is.opened, Is.committed(["limit": "30", "other": "1"], 5),
        Is.committed(
          ["limit": "20"],
          6,
          over: Is.stored(5, ["limit": "30", "other": "1"]),
          base: .document(["limit": "10"]),
          changes: ["limit": "20"]
        ),
      ]
    ),
    BrokenHistory(
      .fieldsMerge,
      "a commit does not change the field that it was made for",
      [Is.opened, Is.committed(["limit": "10"], 6, over: Is.stored(5, ["limit": "10"]), changes: ["limit": "20"])]
    ),
    BrokenHistory(
      .fieldsMerge,
      "a field that no service knows is gone",
      [
        Is.opened, Is.rested(5, ["limit": "10", "unknown": "1"], ["limit": "10"]), Is.changed(20, number: 1),
        Is.rested(6, ["limit": "20"], ["limit": "20"]),
      ]
    ),
  ]

  private static let elements = [
    BrokenHistory(
      .fieldsMerge,
      "a commit loses an element that another service has added to a set",
      [
        Is.opened,
        Is.committed(
          ["set[1]": "true"],
          6,
          over: Is.stored(5, ["set[2]": "true"]),
          changes: ["set[1]": "true"]
        ),
      ]
    ),
    BrokenHistory(
      .fieldsMerge,
      "a commit loses an element that another service has added to a list",
      [
        Is.opened,
        Is.committed(
          ["list[1].n": "2"],
          6,
          over: Is.stored(5, ["list[1].n": "1", "list[2].n": "1"]),
          changes: ["list[1].n": "2"]
        ),
      ]
    ),
    BrokenHistory(
      .fieldsMerge,
      "a commit loses a field of a changed element that only another service knows",
      [
        Is.opened,
        Is.committed(
          ["list[1].n": "2"],
          6,
          over: Is.stored(5, ["list[1].n": "1", "list[1].m": "1"]),
          changes: ["list[1].n": "2"]
        ),
      ]
    ),
    BrokenHistory(
      .fieldsMerge,
      "a commit brings back a removed element that it changes, but loses a field of it",
      [
        Is.opened,
        Is.committed(
          ["list[1].n": "2"],
          6,
          over: Is.stored(5, [:]),
          changes: ["list[1].n": "2"],
          origin: ["list[1].n": "1", "list[1].m": "1"]
        ),
      ]
    ),
    BrokenHistory(
      .fieldsMerge,
      "a commit brings back a removed element that it does not change",
      [
        Is.opened,
        Is.committed(
          ["limit": "20", "list[1].n": "1"],
          6,
          over: Is.stored(5, ["limit": "10"]),
          changes: ["limit": "20"],
          origin: ["limit": "10", "list[1].n": "1"]
        ),
      ]
    ),
    BrokenHistory(
      .fieldsMerge,
      "a commit keeps an entry that it removes",
      [
        Is.opened,
        Is.committed(
          ["map[a]": "1"],
          6,
          over: Is.stored(5, ["map[a]": "1"]),
          changes: ["map[a]": "null"]
        ),
      ]
    ),
    BrokenHistory(
      .fieldsMerge,
      "a commit replaces a sum that another service has increased",
      [
        Is.opened,
        Is.committed(
          ["sum": "6"],
          6,
          over: Is.stored(5, ["sum": "6"]),
          changes: [:],
          increments: ["sum": 1],
          origin: ["sum": "5"]
        ),
      ]
    ),
    BrokenHistory(
      .fieldsMerge,
      "an element that no service knows is gone",
      [
        .opened(Is.a, default: ["limit": "10", "list[].n": "null"], owns: []),
        Is.rested(5, ["limit": "10", "map[a]": "1"], ["limit": "10"]), Is.changed(20, number: 1),
        Is.rested(6, ["limit": "20"], ["limit": "20"]),
      ]
    ),
    BrokenHistory(
      .converges,
      "a box lacks an element",
      [
        .opened(Is.a, default: ["limit": "10", "list[].n": "null"], owns: []),
        Is.rested(5, ["limit": "10", "list[1].n": "1", "list[1].m": "1"], ["limit": "10"]),
      ]
    ),
    BrokenHistory(
      .converges,
      "a box keeps an element that is gone",
      [
        .opened(Is.a, default: ["limit": "10", "set[]": "null"], owns: []),
        Is.rested(5, ["limit": "10"], ["limit": "10", "set[1]": "true"]),
      ]
    ),
    BrokenHistory(
      .noEcho,
      "a service is notified of its own removal of an entry",
      [
        Is.watched, .opened(Is.a, default: ["map[]": "null"], owns: []), Is.committedByAnother(["map[a]": "1"], 4),
        .shown(Is.a, ["map[a]": "1"], revision: 4, isFromOutside: true),
        .changed(Is.a, number: 1, ["map[a]": "null"]),
        Is.committed([:], 5, over: Is.stored(4, ["map[a]": "1"]), changes: ["map[a]": "null"]),
        .acknowledged(Is.a, through: 1, revision: 5), .shown(Is.a, [:], revision: 5, isFromOutside: true),
      ]
    ),
  ]

  private static let count = RedisHistory.Box(service: "a", name: "count")
  private static let counts = RedisHistory.Event.declared(name: "count", RedisHistory.Rules(isCounter: true))

  private static func counted(_ count: String) -> RedisHistory.Event {
    .rested(RedisHistory.Rest(stored: ["count": Is.stored(5, ["": count])], boxes: []))
  }

  private static func update(_ number: Int, _ outcome: RedisHistory.Outcome) -> [RedisHistory.Event] {
    [.updateBegan(count, number: number, changes: true), .updateEnded(count, number: number, outcome)]
  }

  private static let updates = [
    BrokenHistory(
      .exactlyOnceUpdates,
      "an update takes effect twice",
      [
        Is.watched, Is.opened, .updateBegan(Is.a, number: 1, changes: true),
        Is.committed(["limit": "11"], 5, cause: .updates([1])), Is.committed(["limit": "12"], 6, cause: .updates([1])),
      ]
    ),
    BrokenHistory(
      .exactlyOnceUpdates,
      "an update that has succeeded has no effect",
      [
        Is.watched, Is.opened, .updateBegan(Is.a, number: 1, changes: true),
        .updateEnded(Is.a, number: 1, .succeeded(nil)),
      ]
    ),
    BrokenHistory(
      .exactlyOnceUpdates,
      "an update that has failed takes effect",
      [
        Is.watched, Is.opened, .updateBegan(Is.a, number: 1, changes: true), .updateEnded(Is.a, number: 1, .failed),
        Is.committed(["limit": "11"], 5, cause: .updates([1])),
      ]
    ),
    BrokenHistory(
      .exactlyOnceUpdates,
      "an update fails after it took effect",
      [
        Is.watched, Is.opened, .updateBegan(Is.a, number: 1, changes: true),
        Is.committed(["limit": "11"], 5, cause: .updates([1])), .updateEnded(Is.a, number: 1, .failed),
      ]
    ),
    BrokenHistory(
      .exactlyOnceUpdates,
      "an outcome is unknown, and the server is the same",
      [
        Is.watched, Is.opened, .updateBegan(Is.a, number: 1, changes: true), .updateEnded(Is.a, number: 1, .unknown),
      ]
    ),
    BrokenHistory(
      .exactlyOnceUpdates,
      "two updates have the same result",
      [counts] + update(1, .succeeded(["": "1"])) + update(2, .succeeded(["": "1"]))
    ),
    BrokenHistory(.exactlyOnceUpdates, "an update is lost", [counts] + update(1, .succeeded(nil)) + [counted("0")]),
    BrokenHistory(.exactlyOnceUpdates, "a failed update counts", [counts] + update(1, .failed) + [counted("1")]),
  ]

  private static let others = [
    BrokenHistory(
      .foreignEditsSeen,
      "a service does not know the revision that is stored",
      [Is.opened, Is.rested(6, ["limit": "10"], ["limit": "10"], at: 5)]
    ),
    BrokenHistory(
      .foreignEditsSeen,
      "an edit has no revision",
      [Is.opened, Is.rested(0, ["limit": "10"], ["limit": "10"])]
    ),
    BrokenHistory(
      .foreignEditsSeen,
      "an edit of a value that a service knew has no revision of its own",
      [
        Is.opened, Is.committed(["limit": "20"], 5), Is.shown(20, 5),
        .edited(name: "config", ["limit": "30"], Is.stored(5, ["limit": "30"])),
        Is.rested(5, ["limit": "30"], ["limit": "30"], at: 5),
      ]
    ),
    BrokenHistory(
      .foreignEditsSeen,
      "a deleted value is restored",
      [
        Is.opened, Is.committed(["limit": "20"], 5), Is.shown(20, 5),
        .edited(name: "config", [:], RedisHistory.Stored(revision: 5, .absent)), .deleted(name: "config"),
        Is.committed(["limit": "20"], 6, cause: .restoration),
      ]
    ),
    BrokenHistory(
      .foreignEditsSeen,
      "adopting an edit changes it",
      [Is.opened, Is.committed(["limit": "30"], 6, over: Is.stored(5, ["limit": "20"]), cause: .adoption)]
    ),
    BrokenHistory(
      .foreignEditsSeen,
      "an edit of a value at rest is overwritten",
      [
        Is.opened, Is.rested(5, ["limit": "10"], ["limit": "10"]), .edited(name: "config", ["limit": "20"], nil),
        Is.rested(6, ["limit": "10"], ["limit": "10"]),
      ]
    ),
    BrokenHistory(
      .badDataHeld,
      "a local change overwrites unreadable data",
      [
        Is.opened, .edited(name: "config", [:], Is.nonsense), Is.committed(["limit": "20"], 6, over: Is.nonsense),
      ]
    ),
    BrokenHistory(
      .fair,
      "a service always comes too late",
      [Is.opened] + Array(repeating: RedisHistory.Event.conflicted(Is.a), count: 21)
    ),
    BrokenHistory(
      .isolated,
      "a service reads a foreign key",
      [.permitted(["shop:*"], others: []), .touched(service: "a", ["shop:config", "other"])]
    ),
    BrokenHistory(
      .isolated,
      "a service leaves a foreign key behind",
      [
        Is.opened, .permitted(["shop:*"], others: []),
        Is.rested(5, ["limit": "10"], ["limit": "10"], keys: ["other"]),
      ]
    ),
    BrokenHistory(
      .isolated,
      "a foreign key is gone",
      [
        Is.opened, .permitted(["shop:*"], others: ["other"]), Is.rested(5, ["limit": "10"], ["limit": "10"], keys: []),
      ]
    ),
    BrokenHistory(
      .bounded,
      "a service keeps every change",
      [.kept(service: "a", RedisHistory.Load(values: 1, changes: 2))]
    ),
    BrokenHistory(
      .bounded,
      "a queue is too long",
      [.kept(service: "a", RedisHistory.Load(values: 1, changes: 0, queued: 4, limit: 3))]
    ),
  ]
}
