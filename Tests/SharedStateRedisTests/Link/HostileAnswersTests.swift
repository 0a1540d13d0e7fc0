import Foundation
import Testing

@testable import SharedStateRedis

/// A server that gives every combination of answers that make a service ask again.
@Suite("A link whose server answers anything", .timeLimit(.minutes(5)))
struct HostileAnswersTests {
  /// The values that the server claims to have stored.
  enum Stored: CaseIterable {
    case absent, old, older, present, growing, foreign, foreignGrowing, otherType, gone, flapping, parting

    func value(_ count: Int) -> StoredValue {
      switch self {
      case .absent: StoredValue(meta: nil, content: .absent)
      case .old: Self.versioned(5)
      case .older: Self.versioned(1)
      case .present: Self.versioned(7)
      case .growing: Self.versioned(UInt64(count) + 10)
      case .foreign: StoredValue(meta: nil, content: .document(Data("\"x\"".utf8)))
      case .foreignGrowing: StoredValue(meta: nil, content: .document(Data("\(count)".utf8)))
      case .otherType: StoredValue(meta: nil, content: .otherType("list"))
      case .gone: StoredValue(meta: Self.versioned(7).meta, content: .absent)
      case .flapping: Self.versioned(count.isMultiple(of: 2) ? 7 : 5)
      case .parting:
        // This value belongs to a line that the service does not know.
        StoredValue(
          meta: Meta(
            revision: Revision(6),
            parent: .none,
            kind: .set,
            writer: "o@h/1/o",
            lineage: Lineage(era: Era(1), lines: [.init(id: LineID(UInt64(count)), revision: Revision(6))])
          ),
          content: .document(Data("\(count)".utf8))
        )
      }
    }

    private static func versioned(_ revision: UInt64) -> StoredValue {
      let meta = Meta(
        revision: Revision(revision),
        parent: Revision(revision - 1),
        kind: .set,
        writer: "o@h/1/o",
        lineage: Lineage(era: Era(1), lines: [.init(id: LineID(1), revision: Revision(revision))])
      )
      return StoredValue(meta: meta, content: .document(Data("\(revision)".utf8)))
    }
  }

  /// The answers to a commit.
  enum Answer: CaseIterable {
    case type, conflict, noScript, forbidden, committed, committedOld, committedGrowing

    func reply(_ stored: Stored, _ count: Int) -> RedisReply {
      switch self {
      case .type: .commit(.wrongType("list"))
      case .conflict: .commit(.conflict(stored.value(count)))
      case .noScript: .failure(.serverError(code: "NOSCRIPT"))
      case .forbidden: .failure(.permissionDenied(operation: "EVALSHA"))
      case .committed: .commit(.committed(revision: Revision(7), parent: Revision(6)))
      case .committedOld: .commit(.committed(revision: Revision(1), parent: .none))
      case .committedGrowing:
        .commit(.committed(revision: Revision(UInt64(count) + 10), parent: Revision(UInt64(count) + 9)))
      }
    }
  }

  enum Use: CaseIterable {
    case change, save, update, reset, load
  }

  /// One combination of answers.
  struct Hostility: CustomStringConvertible {
    let use: Use
    let commit: Answer
    let restore: Answer
    let conflicting: Stored
    let reading: Stored
    /// Whether the server says that it evicts keys.
    let evicts: Bool

    var description: String {
      "\(use), commit \(commit), restore \(restore), conflict \(conflicting), read \(reading)\(evicts ? ", evicts" : "")"
    }
  }

  private func commands(_ hostility: Hostility, in time: Duration) throws -> AnsweredLink {
    var link = LinkState.make()
    let id = try link.join("count")
    let facts = ServerFacts(clientID: 1, runID: "1", vitals: Vitals(era: Era(1), evictions: 0))
    var isHostile = false
    var answered = AnsweredLink(link, facts: facts) { command, count in
      switch command {
      case .vitals: return .vitals(Vitals(era: Era(1), evictions: hostility.evicts ? UInt64(count) : 0))
      case .read(let names):
        return .values(names.map { _ in isHostile ? hostility.reading.value(count) : Stored.present.value(count) })
      case .summarize(let names, _):
        return .summaries(names.map { _ in StoredSummary(of: hostility.reading.value(count)) })
      case .document: return .document(hostility.reading.value(count).content)
      case .commit: return hostility.commit.reply(hostility.conflicting, count)
      case .restore: return hostility.restore.reply(hostility.conflicting, count)
      default: return nil
      }
    }
    answered.run(for: .seconds(1))
    answered.requests = []
    isHostile = true
    answered.link.invalidated(["count"], now: answered.now)
    switch hostility.use {
    case .change: answered.link.changed(id)
    case .save: _ = try answered.link.save(id, stamp: 1, replacingUnreadable: true, now: answered.now)
    case .update: _ = try answered.link.update(id, now: answered.now)
    case .reset: _ = try answered.link.reset(id, stamp: 1, now: answered.now)
    case .load: _ = try answered.link.load(id, now: answered.now)
    }
    answered.run(for: time)
    return answered
  }

  @Test("A server receives at most 300 requests in two seconds, regardless of its answers", arguments: Use.allCases)
  func few(use: Use) throws {
    for commit in Answer.allCases {
      // A server that refuses commits may need a restoration first, so restorations get every answer, too.
      for restore in commit == .conflict ? Answer.allCases : [commit] {
        for conflicting in commit == .conflict || restore == .conflict ? Stored.allCases : [.absent] {
          for reading in Stored.allCases {
            for evicts in [false, true] {
              let hostility = Hostility(
                use: use,
                commit: commit,
                restore: restore,
                conflicting: conflicting,
                reading: reading,
                evicts: evicts
              )
              let answered = try commands(hostility, in: .seconds(2))
              try #require(answered.requests.count <= 300, "\(answered.requests.count) commands: \(hostility)")
            }
          }
        }
      }
    }
  }

  @Test(
    "A link slows down a program that asks again after every answer",
    arguments: [Answer.type, .conflict, .noScript]
  )
  func insistence(answer: Answer) throws {
    for use in [Use.save, .update, .reset] {
      var link = LinkState.make()
      let id = try link.join("count")
      var answered = AnsweredLink(settling: link) { command, count in
        switch command {
        case .read(let names): .values(names.map { _ in Stored.present.value(count) })
        case .summarize(let names, _): .summaries(names.map { _ in StoredSummary(of: Stored.present.value(count)) })
        case .commit, .restore: answer.reply(.present, count)
        default: nil
        }
      }
      let end = answered.now + .seconds(2)
      while answered.now < end, answered.requests.count < 20_000 {
        let told = answered.resumed.count
        switch use {
        case .save: _ = try answered.link.save(id, stamp: 1, replacingUnreadable: true, now: answered.now)
        case .reset: _ = try answered.link.reset(id, stamp: 1, now: answered.now)
        default: _ = try answered.link.update(id, now: answered.now)
        }
        answered.run(for: end - answered.now) { $0.resumed.count > told }
      }
      #expect(answered.requests.count <= 300, "\(use)")
      #expect(answered.resumed.count > 1, "\(use)")
    }
  }
}
