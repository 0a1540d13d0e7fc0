import Foundation
import SharedState
import Testing

@testable import SharedStateRedis

extension Snapshot.State {
  static func document(_ revision: UInt64, _ text: String) -> Self {
    Self(revision: Revision(revision), document: Data(text.utf8))
  }

  static func deleted(_ revision: UInt64) -> Self { Self(revision: Revision(revision), document: nil) }
}

extension Snapshot.Identity {
  static let flags = Self(label: "flags", namespace: "shop:", database: 0)
}

@Suite("A snapshot", .timeLimit(.minutes(1)))
struct SnapshotTests {
  private let date = Date(timeIntervalSince1970: 1_790_000_000.125)

  private var versioned: Snapshot.State {
    var state = Snapshot.State.document(4, "4")
    let lineage = Lineage(unknownAt: Revision(4))
    let meta = Meta(revision: Revision(4), parent: Revision(3), kind: .set, writer: "a/b/1", lineage: lineage)
    state.version = SavedVersion(meta: meta, secret: "0123456789abcdef")
    return state
  }

  private var sample: Snapshot {
    Snapshot(
      date: date,
      states: [
        "a": .document(1, #"{"text":"ü\n\"quoted\""}"#), "versioned": versioned, "é": .document(2, "2"),
        "gone": .deleted(3),
      ]
    )
  }

  private func refusal(_ data: Data, of store: Snapshot.Identity = .flags) -> Snapshot.Refusal? {
    do throws(Snapshot.Refusal) {
      _ = try Snapshot(data, of: store)
      return nil
    } catch {
      return error
    }
  }

  @Test("What was written is read again")
  func roundTrip() throws {
    #expect(try Snapshot(sample.encoded(for: .flags), of: .flags) == sample)
    let empty = Snapshot(date: date)
    #expect(try Snapshot(empty.encoded(for: .flags), of: .flags) == empty)
  }

  @Test("Names that only look alike are different values")
  func names() throws {
    let snapshot = Snapshot(date: date, states: ["\u{E9}": .document(1, "1"), "e\u{301}": .document(2, "2")])
    #expect(try Snapshot(snapshot.encoded(for: .flags), of: .flags).states.count == 2)
  }

  @Test("A document that is no text is left out, and so is nothing else")
  func noText() throws {
    var snapshot = sample
    snapshot.states["bytes"] = Snapshot.State(revision: Revision(4), document: Data([0xFF, 0xFE]))
    #expect(try Snapshot(snapshot.encoded(for: .flags), of: .flags) == sample)
  }

  @Test("A file that ends early, or with a single wrong byte, is refused")
  func damaged() throws {
    let data = try sample.encoded(for: .flags)
    for end in data.indices { #expect(refusal(data[..<end]) == .damaged) }
    for index in data.indices {
      var wrong = data
      wrong[index] ^= 0x01
      #expect(refusal(wrong) != nil, "byte \(index)")
    }
    #expect(refusal(Data()) == .damaged)
    #expect(refusal(Data("something else\n".utf8)) == .damaged)
  }

  @Test("A file of a later release, and one of another store, are refused for what they are")
  func others() throws {
    let data = try sample.encoded(for: .flags)
    #expect(refusal(Data("shared-state-snapshot 2 and more\n{}".utf8)) == .tooNew)
    #expect(refusal(data, of: .init(label: "other", namespace: "shop:", database: 0)) == .foreign)
    #expect(refusal(data, of: .init(label: "flags", namespace: "", database: 0)) == .foreign)
    #expect(refusal(data, of: .init(label: "flags", namespace: "shop:", database: 1)) == .foreign)
  }

  @Test("A store replaces what it knows to be in the file, also by a smaller revision")
  func own() {
    var snapshot = Snapshot(date: date, states: ["a": .document(9, "old"), "b": .document(1, "b")])
    snapshot.merge(["a": .document(2, "new")], known: ["a": .document(9, "old")])
    #expect(snapshot.states == ["a": .document(2, "new"), "b": .document(1, "b")])
  }

  @Test("Of what two processes have written, the newer state stays")
  func processes() {
    var snapshot = Snapshot(date: date, states: ["a": .document(9, "theirs"), "b": .document(1, "theirs")])
    snapshot.merge(
      ["a": .document(8, "ours"), "b": .document(2, "ours")],
      known: ["a": .document(7, "before"), "b": .document(0, "before")]
    )
    #expect(snapshot.states == ["a": .document(9, "theirs"), "b": .document(2, "ours")])
  }

  @Test("A deletion stays, so that another process cannot bring the value back, and nothing at all leaves nothing")
  func deletions() {
    var snapshot = Snapshot(date: date, states: ["a": .document(1, "1"), "b": .document(1, "1")])
    snapshot.merge(["a": .deleted(2), "b": .deleted(0)], known: snapshot.states)
    #expect(snapshot.states == ["a": .deleted(2)])
    snapshot.merge(["a": .document(1, "1")], known: [:])
    #expect(snapshot.states == ["a": .deleted(2)])
  }

  @Test("Bounded: of values that are not shared any more the oldest are discarded, and none that is shared")
  func bounded() {
    let large = String(repeating: "x", count: 20 << 20)
    var snapshot = Snapshot(date: date)
    for number in 1...4 as ClosedRange<UInt64> {
      snapshot.states[Name("\(number)")] = .document(number, large)
    }
    snapshot.merge(["1": .document(1, large)], known: [:])
    #expect(Set(snapshot.states.keys) == ["1", "2", "3", "4"])
    snapshot.states["5"] = .document(5, large)
    snapshot.merge(["1": .document(1, large)], known: [:])
    #expect(Set(snapshot.states.keys) == ["1", "3", "4", "5"])
  }
}

@Suite("When a snapshot is written", .timeLimit(.minutes(1)))
struct SnapshotScheduleTests {
  private let start = Instant.now

  /// Whether it is to be written after so many seconds.
  private func isDue(_ schedule: inout SnapshotSchedule, _ seconds: Int, isUrgent: Bool = false) -> Bool {
    schedule.take(now: start + .seconds(seconds), isUrgent: isUrgent)
  }

  @Test("It is written once, some time after the first of several changes, and not without one")
  func delay() {
    var schedule = SnapshotSchedule(delay: .seconds(5))
    let unchanged = [0, 100].map { isDue(&schedule, $0) }
    #expect(unchanged == [false, false])
    #expect(schedule.next == nil)
    schedule.changed()
    let early = isDue(&schedule, 0)
    #expect(!early)
    #expect(schedule.next == start + .seconds(5))
    schedule.changed()
    let due = [4, 5, 6].map { isDue(&schedule, $0) }
    #expect(due == [false, true, false])
    #expect(schedule.next == nil)
    let isNext = schedule.written(true)
    #expect(!isNext)
    #expect(!schedule.isBehind)
    let later = isDue(&schedule, 100)
    #expect(!later)
  }

  @Test("A change during an attempt, and a failed attempt, lead to the next one, of which there is one at a time")
  func again() {
    var schedule = SnapshotSchedule(delay: .seconds(5))
    schedule.changed()
    let first = isDue(&schedule, 0, isUrgent: true)
    #expect(first)
    schedule.changed()
    #expect(schedule.isBehind)
    let beside = isDue(&schedule, 60)
    #expect(!beside)
    let none = schedule.written(true)
    #expect(!none)
    let second = isDue(&schedule, 60, isUrgent: true)
    #expect(second)
    let again = schedule.written(false)
    #expect(!again)
    #expect(schedule.isBehind)
    let retried = [61, 65, 66].map { isDue(&schedule, $0) }
    #expect(retried == [false, false, true])
  }

  @Test("A change that is urgent during an attempt follows it directly, once, also if that has failed")
  func urgent() {
    var schedule = SnapshotSchedule(delay: .seconds(5))
    schedule.changed()
    let first = isDue(&schedule, 0, isUrgent: true)
    let unchanged = isDue(&schedule, 1, isUrgent: true)
    schedule.changed()
    let beside = isDue(&schedule, 1, isUrgent: true)
    #expect([first, unchanged, beside] == [true, false, false])
    let attempts = (0..<2).map { _ in schedule.written(false) }
    #expect(attempts == [true, false])
    #expect(schedule.isBehind)
  }

  @Test("The state of a value that is not shared any more stays until it is written, if the snapshot may lack it")
  func departed() {
    var schedule = SnapshotSchedule(delay: .seconds(5))
    let (old, new) = (Snapshot.State.document(1, "1"), Snapshot.State.deleted(2))
    schedule.depart("a", old)
    #expect(schedule.departed.isEmpty)
    schedule.changed()
    schedule.depart("a", old)
    schedule.depart("b", old)
    let written = schedule.departed
    schedule.depart("a", new)
    schedule.wrote(written)
    #expect(schedule.departed == ["a": new])
  }

  @Test("Without a snapshot, nothing is written")
  func none() {
    var schedule = SnapshotSchedule(delay: nil)
    schedule.changed()
    let due = isDue(&schedule, 100, isUrgent: true)
    #expect(!due)
    #expect(!schedule.isBehind)
  }
}
