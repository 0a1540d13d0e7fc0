import Foundation
import SharedState
import Testing

@testable import SharedStateRedis

/// A server that closes the connection instead of sending certain documents, alone or together.
@Suite("A link whose connection breaks at a read", .timeLimit(.minutes(5)))
struct LinkBrokenReadTests {
  private final class Server {
    var poison: Set<String> = []
    /// How many documents one connection may carry before it breaks.
    var limit = Int.max
    private(set) var breaks = 0
    private var revision: UInt64 = 7

    func answer(_ command: RedisRequest.Command) throws(RedisSharedStateError) -> RedisReply? {
      switch command {
      case .summarize(let names, _): return .summaries(names.map { _ in StoredSummary(of: Self.stored) })
      case .read(let names):
        if names.count > limit || names.contains(where: { poison.contains($0.value) }) {
          breaks += 1
          throw .disconnected(reason: "the output is too large")
        }
        return .values(names.map { _ in Self.stored })
      case .commit:
        revision += 1
        return .commit(.committed(revision: Revision(revision), parent: Revision(revision - 1)))
      default: return nil
      }
    }

    static let stored = StoredValue.document(7, "1")
  }

  private func service(_ server: Server, _ names: [String]) throws -> AnsweredLink {
    var link = LinkState.make()
    for name in names { _ = try link.join(name) }
    return AnsweredLink(link) { command, _ throws(RedisSharedStateError) in try server.answer(command) }
  }

  private func live(_ service: AnsweredLink) -> [String] {
    service.link.members.elements.map(\.replica).filter { $0.phase == .live && $0.lastVerified.content != .absent }
      .map(\.name).sorted()
  }

  private let names = (10...40).map { "value\($0)" }

  @Test("Values that are too large together are all read after a single break")
  func together() throws {
    let server = Server()
    server.limit = 3
    var service = try service(server, names)
    service.run(for: .seconds(5))
    #expect(live(service) == names)
    #expect(server.breaks == 1)
    #expect(service.link.session.failures == 0)
  }

  @Test("Values that break the connection do not keep others from being read, and are retried ever more rarely")
  func poison() throws {
    let server = Server()
    server.poison = ["value20", "value30"]
    var service = try service(server, names)
    service.run(for: .seconds(5))
    let others = names.filter { !server.poison.contains($0) }
    #expect(live(service) == others)
    service.run(for: .seconds(595))
    #expect((10...60).contains(server.breaks))
    #expect(live(service) == others)
    #expect(service.link.session.phase == .connected)
    // A caller hears why, and cannot make the link retry sooner without end.
    let id = try #require(service.link.members.ids.first { service.link.members[$0]?.replica.name == "value20" })
    let before = server.breaks
    for _ in 0..<20 {
      let heard = service.resumed.count
      _ = try service.link.load(id, now: service.now)
      service.run(for: .seconds(20)) { $0.resumed.count > heard }
      #expect(service.resumed.last == .some(ConnectionBreakers.Kind.read.error))
    }
    #expect(server.breaks - before <= 40)
    server.poison = []
    service.run(for: .seconds(121))
    #expect(live(service) == names)
    #expect(service.link.session.failures == 0)
  }

  @Test("The first summary does not end the back-off while the connection breaks at reads")
  func backoff() throws {
    let server = Server()
    server.limit = 0
    var service = try service(server, names)
    service.run(for: .seconds(600))
    // With a back-off that starts over, there are thousands.
    #expect(server.breaks < 60 * names.count)
    #expect(server.breaks > names.count)
  }

  @Test(
    "No commit is blamed for a document that breaks the connection, however many commits are sent",
    arguments: [false, true]
  )
  func commits(areResets: Bool) throws {
    let server = Server()
    server.poison = ["value20"]
    var service = try service(server, names)
    service.run(for: .seconds(5))
    // There is always a commit that waits while others are under way.
    service.roundTrip = .milliseconds(20)
    for _ in 0..<400 {
      for id in service.link.members.ids {
        // A reset is sent without an encoding before it.
        if areResets { _ = try service.link.reset(id, stamp: 0, now: service.now) } else { service.link.changed(id) }
      }
      service.run(for: .milliseconds(20))
      service.requests = []
    }
    #expect(service.readsAlone.count > 0)
    #expect(service.readsAlone.companions == 0)
    let blamed = service.saveErrors.filter { $0.value == ConnectionBreakers.Kind.commit.error }.keys
    #expect(blamed.isEmpty)
    // Every other value was read, whether or not the last break has just occurred.
    let wereRead = service.link.members.elements.count { $0.replica.phase == .live }
    #expect(wereRead >= names.count - 1 || service.link.session.phase != .connected)
  }

  @Test("A value is blamed for breaks during its read only if the server did not restart", arguments: [false, true])
  func restarts(isSameRun: Bool) throws {
    var link = LinkState.make()
    let id = try link.join("value20")
    for run in 1...5 {
      let now = Instant.now + .seconds(run * 100)
      if run == 1 { link.start() } else { _ = link.instruction(now: now) }
      link.connected(.both(ServerFacts(runID: isSameRun ? "1" : "\(run)")), epoch: link.session.epoch, now: now)
      let epoch = link.session.epoch
      let subscription = try #require(try link.someWork(for: .subscriber, now: now).requests.first)
      link.arrived([.reply(id: subscription.id, .subscribed)], on: .subscriber, epoch: epoch, now: now)
      for request in try link.someWork(for: .writer, now: now).requests {
        guard case .summarize = request.command else { continue }
        let summaries = RedisReply.summaries([StoredSummary(of: Server.stored)])
        link.arrived([.reply(id: request.id, summaries)], on: .writer, epoch: epoch, now: now)
      }
      _ = try link.someWork(for: .writer, now: now)
      link.failed(epoch: epoch, error: .disconnected(reason: "killed"), now: now)
    }
    #expect(link.isBreaking(id, .read) == isSameRun)
  }
}
