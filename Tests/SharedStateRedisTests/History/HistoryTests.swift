import Foundation
import SharedStateRedisTesting
import Testing

@Suite("A recorded history", .timeLimit(.minutes(5)))
struct HistoryTests {
  /// The server has taken a change of `a`.
  private let made: [RedisHistory.Event] = [
    GuaranteeHistories.watched, GuaranteeHistories.opened, GuaranteeHistories.changed(20, number: 1),
    GuaranteeHistories.committed(["limit": "20"], 5), .acknowledged(GuaranteeHistories.a, through: 1, revision: 5),
  ]
  /// An update of `a` has taken effect, and `a` has not been told.
  private let updated: [RedisHistory.Event] = [
    GuaranteeHistories.watched, GuaranteeHistories.opened,
    .updateBegan(GuaranteeHistories.a, number: 1, changes: true),
    GuaranteeHistories.committed(["limit": "11"], 5, cause: .updates([1])),
  ]

  @Test("A history that fulfils a guarantee has no violations of it", arguments: RedisHistory.Guarantee.allCases)
  func fine(guarantee: RedisHistory.Guarantee) {
    #expect(RedisHistory(GuaranteeHistories.fine(guarantee)).violations(of: [guarantee]) == [])
  }

  @Test("A broken history violates only its own guarantee, in its last event", arguments: BrokenHistory.all)
  func broken(history: BrokenHistory) {
    let violations = RedisHistory(history.events).violations()
    #expect(Set(violations.map(\.guarantee)) == [history.guarantee], "\(violations)")
    #expect(violations.allSatisfy { $0.position == history.events.count - 1 }, "\(violations)")
    #expect(RedisHistory(history.events.dropLast()).violations() == [])
  }

  @Test("The sample histories break every guarantee")
  func everyGuarantee() {
    #expect(Set(BrokenHistory.all.map(\.guarantee)) == Set(RedisHistory.Guarantee.allCases))
  }

  @Test("A history is judged only by the selected guarantees")
  func selection() {
    let events = [GuaranteeHistories.opened, GuaranteeHistories.shown(30, 7), GuaranteeHistories.shown(20, 5)]
    #expect(RedisHistory(events).violations(of: [.noEcho, .converges]) == [])
  }

  @Test("The description of a violation names the guarantee, the box, the revisions and the events")
  func text() {
    let events = [GuaranteeHistories.opened, GuaranteeHistories.shown(30, 7), GuaranteeHistories.shown(20, 5)]
    let texts = RedisHistory(events).violations().map(\.description)
    #expect(texts == ["Ordered: a's config went from 7 (event 1) back to 5 (event 2)"])
  }

  @Test("Each event of a history is unchanged by encoding it as JSON and decoding it")
  func coding() throws {
    for events in RedisHistory.Guarantee.allCases.map(GuaranteeHistories.fine) + BrokenHistory.all.map(\.events) {
      for event in events {
        #expect(try JSONDecoder().decode(RedisHistory.Event.self, from: JSONEncoder().encode(event)) == event)
      }
    }
  }

  // MARK: What rules allow

  @Test("A box may return to an earlier revision along with the server under .adoptServer")
  func adoptServer() {
    let rules = RedisHistory.Event.declared(name: "config", RedisHistory.Rules(followsLosses: true))
    let events = [rules, GuaranteeHistories.opened, GuaranteeHistories.shown(30, 7), GuaranteeHistories.shown(20, 5)]
    let rest = GuaranteeHistories.rested(5, ["limit": "20"], ["limit": "20"], at: 5)
    #expect(RedisHistory(events + [rest]).violations() == [])
  }

  @Test("A value with a time to live may be lost")
  func expiry() {
    let rules = RedisHistory.Event.declared(name: "config", RedisHistory.Rules(expires: true))
    let rest = RedisHistory.Rest(
      stored: ["config": RedisHistory.Stored(revision: 0, .absent)],
      boxes: [RedisHistory.Rest.Held(GuaranteeHistories.a, ["limit": "10"], revision: 0)]
    )
    let events = [rules, GuaranteeHistories.opened, GuaranteeHistories.shown(30, 7), .rested(rest)]
    #expect(RedisHistory(events).violations() == [])
  }

  /// A service restores the absence of a value, at a revision, on a server that has nothing.
  private func restoredDeletion(_ revision: UInt64) -> RedisHistory.Event {
    let nothing = RedisHistory.Stored(revision: 0, .absent)
    let deletion = RedisHistory.Stored(revision: revision, .absent)
    return .committed(RedisHistory.Commit(of: nil, to: "config", cause: .restoration, before: nothing, after: deletion))
  }

  @Test("The absence of an expired value may be restored, but no other absence")
  func restoredExpiry() {
    let gone = restoredDeletion(5)
    let events = [
      GuaranteeHistories.watched, GuaranteeHistories.opened, GuaranteeHistories.committed(["limit": "20"], 5),
    ]
    #expect(RedisHistory(events + [.expires(name: "config"), gone]).violations() == [])
    #expect(RedisHistory(events + [gone]).violations().map(\.guarantee) == [.acknowledgedSurvives])
  }

  @Test("A deletion that removed the revision may be restored only under the earlier revision")
  func restoredFlush() {
    let flushed = RedisHistory.Event.edited(name: "config", [:], RedisHistory.Stored(revision: 0, .absent))
    let events = [
      GuaranteeHistories.watched, GuaranteeHistories.opened, GuaranteeHistories.committed(["limit": "20"], 5), flushed,
    ]
    #expect(RedisHistory(events + [restoredDeletion(5)]).violations() == [])
    #expect(RedisHistory(events + [restoredDeletion(6)]).violations().map(\.guarantee) == [.acknowledgedSurvives])
  }

  @Test("Another service's value may be shown under a revision that is assigned again after a loss")
  func revisionMadeTwice() {
    let (nothing, again) = (RedisHistory.Stored(revision: 0, .absent), GuaranteeHistories.stored(5, ["limit": "20"]))
    let events: [RedisHistory.Event] = [
      GuaranteeHistories.watched, GuaranteeHistories.opened, GuaranteeHistories.changed(20, number: 1),
      GuaranteeHistories.committed(["limit": "20"], 5), .acknowledged(GuaranteeHistories.a, through: 1, revision: 5),
      .lost,
      .committed(RedisHistory.Commit(of: nil, to: "config", cause: .change(through: 0), before: nothing, after: again)),
      GuaranteeHistories.shown(20, 5),
    ]
    #expect(RedisHistory(events).violations(of: [.noEcho]) == [])
  }

  @Test("A value equal to the default may be shown again after a deletion was shown under its revision")
  func shownAfterDeletion() {
    let made: [RedisHistory.Event] = [
      GuaranteeHistories.watched, GuaranteeHistories.opened, GuaranteeHistories.changed(10, number: 1),
      GuaranteeHistories.committed(["limit": "10"], 5), .acknowledged(GuaranteeHistories.a, through: 1, revision: 5),
    ]
    let deleted = RedisHistory.Event.shown(GuaranteeHistories.a, nil, revision: 5, isFromOutside: true)
    let again = GuaranteeHistories.shown(10, 5)
    #expect(RedisHistory(made + [.lost, deleted, again]).violations(of: [.noEcho]) == [])
    #expect(RedisHistory(made + [.lost, again]).violations().map(\.guarantee) == [.noEcho])
  }

  @Test("An earlier value may be shown again after an unreadable value")
  func shownAfterUnreadable() {
    let list = RedisHistory.Event.edited(name: "config", [:], RedisHistory.Stored(revision: 5, .unreadable("list")))
    let again = GuaranteeHistories.shown(20, 5)
    #expect(RedisHistory(made + [list, again]).violations() == [])
    #expect(RedisHistory(made + [again]).violations().map(\.guarantee) == [.noEcho])
  }

  @Test("A box's own value may be shown again after an edit has left it without a revision")
  func shownWithoutRevision() {
    let again = GuaranteeHistories.shown(20, 5)
    for (limit, guarantees) in [("20", []), ("30", [RedisHistory.Guarantee.noEcho])] {
      let left = GuaranteeHistories.stored(0, ["limit": limit, "other": "1"])
      let edited = RedisHistory.Event.edited(name: "config", ["limit": limit], left)
      #expect(RedisHistory(made + [edited, again]).violations(of: [.noEcho]).map(\.guarantee) == guarantees)
    }
    let before = RedisHistory.Event.edited(name: "config", [:], GuaranteeHistories.stored(0, ["limit": "20"]))
    #expect(RedisHistory([before] + made + [again]).violations(of: [.noEcho]).map(\.guarantee) == [.noEcho])
  }

  @Test("A tombstone may be lost after an eviction, but a value may not")
  func evictedTombstone() {
    let deleted = RedisHistory.Event.shown(GuaranteeHistories.a, nil, revision: 5, isFromOutside: true)
    let rest = RedisHistory.Rest(
      stored: ["config": RedisHistory.Stored(revision: 0, .absent)],
      boxes: [RedisHistory.Rest.Held(GuaranteeHistories.a, ["limit": "10"], revision: 0)]
    )
    let evicted = RedisHistory.Event.evicted(name: "config")
    #expect(RedisHistory([GuaranteeHistories.opened, deleted, evicted, .rested(rest)]).violations() == [])
    let kept = RedisHistory([GuaranteeHistories.opened, deleted, .rested(rest)])
    #expect(kept.violations().map(\.guarantee) == [.acknowledgedSurvives])
    let shown = RedisHistory([GuaranteeHistories.opened, GuaranteeHistories.shown(10, 5), evicted, .rested(rest)])
    #expect(shown.violations().map(\.guarantee) == [.acknowledgedSurvives])
  }

  @Test("A box may go on from a smaller revision once its value has expired on a server that has lost it")
  func expiredAndLost() {
    typealias Is = GuaranteeHistories
    let gone = RedisHistory.Event.shown(Is.a, nil, revision: 5, isFromOutside: true)
    func violations(_ events: [RedisHistory.Event]) -> [RedisHistory.Guarantee] {
      let before = [Is.opened, Is.committedByAnother(30, 4), Is.committedByAnother(20, 5), Is.shown(20, 5)]
      return RedisHistory(before + events + [Is.shown(30, 4)]).violations(of: [.ordered]).map(\.guarantee)
    }
    let expires = RedisHistory.Event.expires(name: "config")
    #expect(violations([expires, .lost, gone]) == [])
    #expect(violations([expires, .lost]) == [.ordered])
    #expect(violations([expires, gone]) == [.ordered])
  }

  @Test("A change on one primary may yield to a reset on another one, but not to an eviction")
  func resetOnOtherPrimary() {
    typealias Is = GuaranteeHistories
    func committed(_ cause: RedisHistory.Commit.Cause, _ before: UInt64, _ after: UInt64) -> RedisHistory.Event {
      let (before, after) = (
        RedisHistory.Stored(revision: before, .absent), RedisHistory.Stored(revision: after, .absent)
      )
      var commit = RedisHistory.Commit(of: Is.b, to: "config", cause: cause, before: before, after: after)
      if cause == .merge { commit.includes = Is.stored(5, ["limit": "20"]) }
      return .committed(commit)
    }
    let rest = RedisHistory.Rest(
      stored: ["config": RedisHistory.Stored(revision: 7, .absent)],
      boxes: [RedisHistory.Rest.Held(Is.a, ["limit": "10"], revision: 7)]
    )
    func violations(_ events: [RedisHistory.Event]) -> [RedisHistory.Guarantee] {
      let change = [Is.changed(20, number: 1), Is.committed(["limit": "20"], 5)]
      let acknowledged = RedisHistory.Event.acknowledged(Is.a, through: 1, revision: 5)
      let before = [Is.watched, Is.opened, .evicted(name: "config"), .lost]
      return RedisHistory(before + events[..<1] + change + [acknowledged, .lost] + events[1...] + [.rested(rest)])
        .violations(of: [.acknowledgedSurvives]).map(\.guarantee)
    }
    #expect(violations([committed(.reset(through: 0), 3, 4), committed(.merge, 4, 7)]) == [])
    #expect(violations([.lost, committed(.merge, 4, 7)]).contains(.acknowledgedSurvives))
  }

  @Test("An unreadable value may be replaced only if it has no revision")
  func unreadableWithoutRevision() {
    for (revision, guarantees) in [(0, []), (5, [RedisHistory.Guarantee.badDataHeld])]
      as [(UInt64, [RedisHistory.Guarantee])]
    {
      let bad = RedisHistory.Stored(revision: revision, .unreadable("?"))
      let events: [RedisHistory.Event] = [
        GuaranteeHistories.opened, .edited(name: "config", [:], bad),
        GuaranteeHistories.committed(["limit": "20"], 6, over: bad),
      ]
      #expect(RedisHistory(events).violations().map(\.guarantee) == guarantees)
    }
  }

  @Test("An evicted or expired value may be shown as absent, and missing members as their defaults")
  func shownExpiry() {
    let events: [RedisHistory.Event] = [
      GuaranteeHistories.watched, .opened(GuaranteeHistories.a, default: ["limit": "10", "newer": "1"], owns: []),
      GuaranteeHistories.committedByAnother(20, 5),
      .shown(GuaranteeHistories.a, ["limit": "20", "newer": "1"], revision: 5, isFromOutside: true),
    ]
    let gone = RedisHistory.Event.shown(GuaranteeHistories.a, nil, revision: 5, isFromOutside: true)
    #expect(RedisHistory(events + [.expires(name: "config"), gone]).violations() == [])
    #expect(RedisHistory(events + [.evicted(name: "config"), gone]).violations() == [])
    #expect(RedisHistory(events + [gone]).violations().map(\.guarantee) == [.ordered])
  }

  @Test("A commit over an existing value may lack a base only after an eviction or expiry")
  func commitWithoutBase() {
    let evicted = RedisHistory.Event.evicted(name: "config")
    let before = [GuaranteeHistories.opened, GuaranteeHistories.committedByAnother(20, 5)]
    let over = GuaranteeHistories.stored(5, ["limit": "20"])
    let ofNothing = GuaranteeHistories.committed(["limit": "30"], 6, over: over, base: .absent)
    let ofSomething = GuaranteeHistories.committed(["limit": "30"], 6, over: over, base: .document(["limit": "10"]))
    #expect(RedisHistory(before + [evicted, ofNothing]).violations() == [])
    #expect(RedisHistory(before + [.expires(name: "config"), ofNothing]).violations() == [])
    #expect(RedisHistory(before + [ofNothing]).violations().map(\.guarantee) == [.fieldsMerge])
    #expect(RedisHistory(before + [evicted, ofSomething]).violations().map(\.guarantee) == [.fieldsMerge])
  }

  @Test("An update may be repeated only after the server has lost it")
  func repeatedAfterLoss() {
    let after: [RedisHistory.Event] = [
      GuaranteeHistories.committed(["limit": "11"], 6, cause: .updates([1])),
      .updateEnded(GuaranteeHistories.a, number: 1, .succeeded(nil)),
    ]
    #expect(RedisHistory(updated + [.lost] + after).violations(of: [.exactlyOnceUpdates]) == [])
    #expect(RedisHistory(updated + after + [.lost]).violations(of: [.exactlyOnceUpdates]).map(\.position) == [4, 5])
  }

  @Test("An update may be repeated only if it was overwritten after its revision was evicted")
  func repeatedAfterEviction() {
    let made: RedisHistory.Document = ["limit": "11"]
    func over(
      _ revision: UInt64,
      _ cause: RedisHistory.Commit.Cause = .change(through: 1),
      base: RedisHistory.Document = ["limit": "10"],
      makes after: UInt64 = 4
    ) -> RedisHistory.Event {
      let before = GuaranteeHistories.stored(revision, made)
      return GuaranteeHistories.committed(["limit": "30"], after, over: before, cause: cause, base: .document(base))
    }
    let again: [RedisHistory.Event] = [
      GuaranteeHistories.committed(
        ["limit": "31"],
        7,
        over: GuaranteeHistories.stored(6, ["limit": "30"]),
        cause: .updates([1])
      ),
      .updateEnded(GuaranteeHistories.a, number: 1, .succeeded(nil)),
    ]
    func violations(_ events: [RedisHistory.Event]) -> [RedisHistory.Guarantee] {
      RedisHistory(updated + events + again).violations(of: [.exactlyOnceUpdates]).map(\.guarantee)
    }
    let evicted = RedisHistory.Event.evicted(name: "config")
    #expect(violations([evicted, over(0)]) == [])
    let twice = [RedisHistory.Guarantee.exactlyOnceUpdates, .exactlyOnceUpdates]
    #expect(violations([evicted, over(0, makes: 6)]) == twice)
    #expect(violations([evicted, over(5, makes: 6)]) == twice)
    #expect(violations([evicted, over(0, base: made)]) == twice)
    #expect(violations([evicted, over(0, .adoption)]) == twice)
    #expect(violations([over(0)]) == twice)
    #expect(violations([.evicted(name: "other"), over(0)]) == twice)
  }

  @Test("Forgotten operations may leave an outcome unknown, but not repeat an update of an existing value")
  func forgotten() {
    let began = updated + [.forgotten]
    #expect(RedisHistory(began + [.updateEnded(GuaranteeHistories.a, number: 1, .unknown)]).violations() == [])
    let made = GuaranteeHistories.stored(5, ["limit": "11"])
    let again = GuaranteeHistories.committed(["limit": "12"], 6, over: made, cause: .updates([1]))
    #expect(RedisHistory(began + [again]).violations().map(\.guarantee) == [.exactlyOnceUpdates])
    // If an update created the value, nothing may be left on the server to remember the update by.
    let ofNothing = GuaranteeHistories.committed(["limit": "11"], 6, cause: .updates([1]))
    #expect(RedisHistory(began + [ofNothing]).violations() == [])
    let refused = began.dropLast() + [.refused]
    #expect(RedisHistory(refused + [.updateEnded(GuaranteeHistories.a, number: 1, .unknown)]).violations() == [])
    #expect(RedisHistory(refused + [ofNothing]).violations().map(\.guarantee) == [.exactlyOnceUpdates])
    // The base of an update may be older than the update.
    let late: [RedisHistory.Event] = [
      GuaranteeHistories.watched, GuaranteeHistories.opened, .forgotten,
      .updateBegan(GuaranteeHistories.a, number: 1, changes: true),
      .updateEnded(GuaranteeHistories.a, number: 1, .unknown),
    ]
    #expect(RedisHistory(late).violations() == [])
    let rested = late.prefix(3) + [GuaranteeHistories.rested(5, ["limit": "10"], ["limit": "10"])] + late.suffix(2)
    #expect(RedisHistory(Array(rested)).violations(of: [.exactlyOnceUpdates]).map(\.position) == [5])
  }

  @Test("An unencodable change must not stay in its box")
  func notEncodable() {
    let kept: [RedisHistory.Event] = [
      GuaranteeHistories.watched, GuaranteeHistories.opened, GuaranteeHistories.changed(20, number: 1),
      .notEncodable(GuaranteeHistories.a, through: 1),
    ]
    let rest = GuaranteeHistories.rested(5, ["limit": "10"], ["limit": "20"])
    #expect(RedisHistory(kept + [rest]).violations().map(\.guarantee) == [.converges])
    let discarded = GuaranteeHistories.rested(5, ["limit": "10"], ["limit": "10"])
    #expect(RedisHistory(kept + [discarded]).violations() == [])
  }

  // MARK: Documents

  @Test("Documents are compared by their fields, regardless of formatting")
  func documents() throws {
    let document = RedisHistory.Document(json: Data(#" {"b": {"y":1, "x":[ 1 ]}, "a": "text", "none": null}"#.utf8))
    #expect(document == ["a": #""text""#, "b": #"{"x":[1],"y":1}"#, "none": "null"])
    #expect(document?["none"] == nil)
    #expect(RedisHistory.Document(json: Data("5".utf8)) == ["": "5"])
    #expect(try RedisHistory.Document(of: ["limit": 5]) == ["limit": "5"])
    #expect(RedisHistory.Document(json: Data("nonsense".utf8)) == nil)
  }
}
