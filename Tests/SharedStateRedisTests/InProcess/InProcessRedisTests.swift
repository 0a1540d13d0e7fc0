import Foundation
import SharedStateRedis
import SharedStateRedisTesting
import Testing

@Suite("The in-process server's keys and clock", .timeLimit(.minutes(5)))
struct InProcessRedisTests {
  let server = InProcessRedis()

  @Test func `strings are set, read, and deleted`() {
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

  @Test func `a key of another type is named, and is no string`() {
    server.set("a", type: "hash")
    #expect(server.type(of: "a") == "hash")
    #expect(server.get("a") == nil)
    server.set("a", "1")
    #expect(server.type(of: "a") == "string")
    #expect(server.type(of: "b") == "none")
  }

  @Test func `a key expires when the clock has passed, and not before`() {
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

  @Test func `setting a key forgets its expiry, and an expiry that is not positive deletes`() {
    server.set("a", "1")
    server.expire("a", after: .seconds(1))
    server.set("a", "2")
    #expect(server.timeToLive(of: "a") == nil)
    #expect(server.expire("a", after: .zero))
    #expect(server.get("a") == nil)
  }

  @Test func `an endless expiry neither traps nor deletes`() {
    server.set("a", "1")
    server.expire("a", after: .seconds(Int64.max))
    #expect(server.get("a") == "1")
  }

  @Test func `revisions follow the clock forwards, and never backwards`() throws {
    let probe = try InProcessProbe(server)
    let first = try #require(try probe.committed(probe.commit("1", number: 1))).revision
    server.advanceClock(by: .seconds(86_400))
    let second = try #require(try probe.committed(probe.commit("2", number: 2))).revision
    #expect(second.rawValue - first.rawValue >= 86_400_000_000)
    server.advanceClock(by: .seconds(-200_000))
    let third = try #require(try probe.committed(probe.commit("3", number: 3))).revision
    #expect(third.rawValue == second.rawValue + 1)
  }

  @Test func `an operation is forgotten after an hour without commits`() throws {
    let probe = try InProcessProbe(server)
    let first = try #require(try probe.committed(probe.commit("1"))).revision
    server.advanceClock(by: .seconds(3_590))
    #expect(try probe.committed(probe.commit("1"))?.revision == first)
    server.advanceClock(by: .seconds(20))
    #expect(try probe.committed(probe.commit("1"))?.parent == first)
  }

  @Test func `deleting and flushing reach meta and operations too`() throws {
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

  @Test func `a stored revision that is out of range counts as none`() throws {
    let probe = try InProcessProbe(server)
    server.set(probe.names.meta, "99999999999999999999 0 s 0 w")
    #expect(try probe.committed(probe.commit("1"))?.parent == Revision.none)
  }

  @Test func `operations that somebody else has broken fail the commit as the script does`() throws {
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
