import Foundation
@testable import SharedStateRedis
import SharedStateRedisTesting
import Testing

@Suite("The in-process server's keys and clock", .timeLimit(.minutes(5)))
struct InProcessRedisTests {
  let server = InProcessRedis()

  @Test("Strings are set, read, and deleted")
  func strings() {
    #expect(server.get("a") == nil)
    server.set("a", "1")
    server.set("b", Data([0, 255]))
    #expect(server.get("a") == "1")
    #expect(server.getData("b") == Data([0, 255]))
    #expect(server.keys == ["a", "b"])
    #expect(server.delete("a"))
    #expect(!server.delete("a"))
    #expect(server.keys == ["b"])
    server.flushAll()
    #expect(server.keys == [])
  }

  @Test("A key of another type reports its type and has no string value")
  func otherType() {
    server.set("a", type: "hash")
    #expect(server.type(of: "a") == "hash")
    #expect(server.get("a") == nil)
    server.set("a", "1")
    #expect(server.type(of: "a") == "string")
    #expect(server.type(of: "b") == "none")
  }

  @Test("A key expires when the clock has passed its expiry, and not before")
  func expiry() {
    server.set("a", "1")
    #expect(server.expire("a", after: .seconds(3_600)))
    #expect(!server.expire("b", after: .seconds(3_600)))
    server.advanceClock(by: .seconds(1_800))
    #expect(server.get("a") == "1")
    #expect(server.timeToLive(of: "a").map { $0 <= .seconds(1_800) } == true)
    server.advanceClock(by: .seconds(1_801))
    #expect(server.get("a") == nil)
    #expect(server.keys == [])
    #expect(server.type(of: "a") == "none")
    #expect(!server.delete("a"))
  }

  @Test("Setting a key clears its expiry, and an expiry of zero deletes the key")
  func clearedExpiry() {
    server.set("a", "1")
    server.expire("a", after: .seconds(1))
    server.set("a", "2")
    #expect(server.timeToLive(of: "a") == nil)
    #expect(server.expire("a", after: .zero))
    #expect(server.get("a") == nil)
  }

  @Test("A huge expiry neither traps nor deletes the key")
  func hugeExpiry() {
    server.set("a", "1")
    server.expire("a", after: .seconds(Int64.max))
    #expect(server.get("a") == "1")
  }

  @Test("Revisions follow the clock forwards, but never backwards")
  func revisionsFollowClock() throws {
    let probe = try InProcessProbe(server)
    let first = try #require(try probe.committed(probe.commit("1", number: 1))).revision
    server.advanceClock(by: .seconds(86_400))
    let second = try #require(try probe.committed(probe.commit("2", number: 2))).revision
    #expect(second.rawValue - first.rawValue >= 86_400_000_000)
    server.advanceClock(by: .seconds(-200_000))
    let third = try #require(try probe.committed(probe.commit("3", number: 3))).revision
    #expect(third.rawValue == second.rawValue + 1)
  }

  @Test("An operation is forgotten after an hour without a new commit")
  func forgottenOperation() throws {
    let probe = try InProcessProbe(server)
    let first = try #require(try probe.committed(probe.commit("1"))).revision
    server.advanceClock(by: .seconds(3_590))
    #expect(try probe.committed(probe.commit("1"))?.revision == first)
    server.advanceClock(by: .seconds(20))
    #expect(try probe.committed(probe.commit("1"))?.parent == first)
  }

  @Test("Meta keys can be deleted, and a flush removes meta and operations")
  func deletedMeta() throws {
    let probe = try InProcessProbe(server)
    let names = probe.names
    let first = try #require(try probe.committed(probe.commit("1"))).revision
    #expect(server.keys == names.scriptKeys.sorted())
    server.delete(names.meta)
    #expect(try probe.committed(probe.commit("1"))?.revision == first)
    #expect(try probe.committed(probe.commit("2", number: 2))?.parent == Revision.none)
    server.flushAll()
    #expect(try probe.committed(probe.commit("2", number: 2))?.parent == Revision.none)
  }

  @Test("A stored revision that is out of range counts as none")
  func revisionOutOfRange() throws {
    let probe = try InProcessProbe(server)
    server.set(probe.names.meta, "99999999999999999999 0 s 0 w")
    #expect(try probe.committed(probe.commit("1"))?.parent == Revision.none)
  }

  @Test("A commit fails if another client has corrupted the operations")
  func corruptedOperations() throws {
    let probe = try InProcessProbe(server)
    _ = try probe.reply(to: probe.commit("1"))
    server.set(probe.names.operations, "nonce-of-a 1 2")
    guard case .failure(.serverError(code: "ERR"))? = try probe.reply(to: probe.commit("2")) else {
      Issue.record("Operations without an end were accepted.")
      return
    }
    #expect(server.get(probe.names.value) == "1")
  }
}
