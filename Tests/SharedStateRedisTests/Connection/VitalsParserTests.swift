@testable import SharedStateRedis
import Testing

@Suite("The vitals that a server reports", .timeLimit(.minutes(1)))
struct VitalsParserTests {
  private static let zeros = String(repeating: "0", count: 40)

  /// What a primary says in INFO.
  private struct Primary {
    var run = "a"
    var role = "master"
    var id = "11111111aa"
    var former = "\(VitalsParserTests.zeros)"
    var offset = -1
    var received: Int? = 0
    var evictions = 0
    var session: UInt64 = 1

    var vitals: Vitals? {
      var parser = VitalsParser(runID: run)
      parser.take(
        ServerInfo(
          "role:\(role)\r\nmaster_replid:\(id)\r\nmaster_replid2:\(former)\r\nsecond_repl_offset:\(offset)\r\n"
        )
      )
      let count = received.map { "\r\ntotal_net_repl_input_bytes:\($0)" } ?? ""
      parser.take(ServerInfo("evicted_keys:\(evictions)\(count)\r\n"))
      var vitals = parser.vitals
      if vitals?.session != nil { vitals?.session = session }
      return vitals
    }

    func changed(_ change: (inout Primary) -> Void) -> Primary {
      var changed = self
      change(&changed)
      return changed
    }

    func continues(_ earlier: Primary) -> Bool? {
      guard let vitals, let earlier = earlier.vitals else { return nil }
      return vitals.continues(earlier)
    }
  }

  @Test("Another ID of the same run continues the history, unless the run has received data of a primary")
  func runs() {
    let first = Primary()
    let backup = first.changed { $0.id = "22222222aa" }
    #expect(backup.continues(first) == true)
    #expect(backup.vitals?.era == first.vitals?.era)
    let other = first.changed { $0.run = "b" }
    #expect(other.changed { $0.id = "22222222aa" }.continues(first) == false)
    // Promoted, and its backlog discarded.
    let promoted = first.changed { ($0.id, $0.received) = ("33333333aa", 500) }
    #expect(promoted.continues(first) == false)
    #expect(promoted.changed { $0.id = "44444444aa" }.continues(promoted) == true)
  }

  @Test("A server that counts nothing proves a continued history to those that stay connected, until it names another")
  func withoutCount() {
    let first = Primary(received: nil)
    let backup = first.changed { $0.id = "22222222aa" }
    #expect(backup.continues(first) == true)
    #expect(backup.changed { $0.session = 2 }.continues(first) == false)
    #expect(first.changed { $0.session = 2 }.continues(first) == true)
    let promoted = first.changed { ($0.id, $0.former, $0.offset) = ("33333333aa", "11111111aa", 57) }
    #expect(promoted.continues(first) == false)
    #expect(promoted.vitals?.era != first.vitals?.era)
  }

  @Test("CONFIG RESETSTAT on a promoted server does not make it look like one that never was a replica")
  func resetCount() {
    let first = Primary()
    let reset = first.changed { ($0.id, $0.former, $0.offset) = ("33333333aa", "55555555aa", 57) }
    #expect(reset.continues(first) == false)
  }

  @Test("A replica, and a server behind a proxy, have the era that their ID names")
  func replicas() {
    let replica = Primary(role: "slave", received: 500)
    #expect(replica.vitals?.era == Era(0x1111_1111))
    #expect(replica.changed { $0.received = 900 }.continues(replica) == true)
    // It is read at the primary next.
    #expect(replica.changed { ($0.role, $0.run) = ("master", "b") }.continues(replica) == true)
    var parser = VitalsParser()
    parser.take(
      ServerInfo("role:master\r\nmaster_replid:11111111aa\r\nmaster_replid2:\(Self.zeros)\r\nsecond_repl_offset:-1\r\n")
    )
    #expect(parser.vitals?.era == Era(0x1111_1111))
  }

  @Test("Vitals whose name of the history is refused are unknown, and a refused count of evictions is none")
  func refusals() {
    var parser = VitalsParser(runID: "a")
    parser.take(ServerInfo("role:master\r\nmaster_replid:11111111aa\r\nevicted_keys:5\r\n"))
    #expect(parser.vitals?.evictions == 5)
    parser.lose(.statistics, .permissionDenied(operation: "INFO"))
    #expect(parser.vitals?.evictions == nil)
    parser.lose(.replication, .serverError(code: "BUSY"))
    #expect(parser.vitals == nil)
    #expect(parser.refusal == .serverError(code: "BUSY"))
  }
}
