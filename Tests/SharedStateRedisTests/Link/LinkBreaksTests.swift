import Foundation
import Testing

@testable import SharedStateRedis

/// A server or a proxy that closes the connection when it receives a certain value.
@Suite("A link whose connection breaks at a commit", .timeLimit(.minutes(5)))
struct LinkBreaksTests {
  /// A server that stores everything, and closes the connection at certain commits.
  private final class Server {
    /// The names whose commits close the connection.
    var poison: Set<String> = []
    /// How it closes them.
    var end = RedisSharedStateError.disconnected(reason: "closed")
    private(set) var stored: [String: StoredValue] = [:]
    private(set) var sent: [String: Int] = [:]
    private(set) var breaks = 0
    private var revision: UInt64 = 10
    private var operations: [SharedStateRedis.Operation: CommitReply] = [:]

    /// A service that shares values of these names.
    func service(_ names: [String]) throws -> AnsweredLink {
      var link = LinkState.make()
      for name in names { _ = try link.join(name) }
      return AnsweredLink(link) { [self] command, _ throws(RedisSharedStateError) in try answer(command) }
    }

    /// Changes values, and breaks the connection twice while the changes are under way.
    func breakTwice(_ service: inout AnsweredLink, at names: [String]) {
      service.change(names)
      for _ in 1...2 {
        let before = breaks
        poison = Set(names)
        service.run(for: .seconds(60)) { _ in breaks > before }
        poison = []
      }
    }

    private func answer(_ command: RedisRequest.Command) throws(RedisSharedStateError) -> RedisReply? {
      switch command {
      case .read(let names): return .values(names.map { stored[$0.value] ?? .nothing })
      case .summarize(let names, _): return .summaries(names.map { StoredSummary(of: stored[$0.value] ?? .nothing) })
      case .commit(let commit):
        sent[commit.names.value, default: 0] += 1
        guard !poison.contains(commit.names.value) else {
          breaks += 1
          throw end
        }
        // A commit whose answer was lost is sent again.
        let reply = operations[commit.operation] ?? keep(commit)
        operations[commit.operation] = reply
        return .commit(reply)
      default: return nil
      }
    }

    private func keep(_ commit: Commit) -> CommitReply {
      let present = stored[commit.names.value] ?? .nothing
      guard case .document(let document, _) = commit.content, present.revision == commit.condition.expected else {
        return .conflict(present)
      }
      revision += 1
      let made = Revision(revision)
      let lineage = commit.lineage?.made(made)
      let meta = Meta(revision: made, parent: present.revision, kind: .set, writer: commit.writer, lineage: lineage)
      stored[commit.names.value] = StoredValue(meta: meta, content: .document(document))
      return .committed(revision: made, parent: present.revision)
    }
  }

  private let others = (1...20).map { "other\($0)" }

  @Test("One value that breaks the connection does not keep twenty others from being stored", arguments: [false, true])
  func oneForTwenty(losesReplies: Bool) throws {
    let server = Server()
    var service = try server.service(["poison"] + others)
    service.losesReplies = losesReplies
    service.run(for: .seconds(1))
    server.poison = ["poison"]
    service.change(["poison"] + others)
    service.run(for: .seconds(2))
    #expect(Set(server.stored.keys) == Set(others))
    service.run(for: .seconds(58))
    #expect((4...12).contains(server.sent["poison"] ?? 0))
    #expect(service.companions == 0)
    // Only the poison has the error.
    let poison = try #require(service.id(of: "poison"))
    #expect(service.saveErrors[poison] == ConnectionBreakers.Kind.commit.error)
    #expect(Set(service.saveErrors.keys) == [poison])
    #expect(service.link.pendingChanges == 1)
    // Changes of other values are stored at once meanwhile.
    service.change(others)
    let isStored = service.link.pendingChanges
    #expect(isStored == 21)
    service.run(for: .seconds(1))
    #expect(service.link.pendingChanges == 1)
  }

  @Test(
    "A commit that was under way each time when another server took over is not the cause",
    arguments: [false, true]
  )
  func moved(losesReplies: Bool) throws {
    let server = Server()
    var service = try server.service(["count"])
    service.losesReplies = losesReplies
    service.run(for: .seconds(1))
    (server.poison, server.end) = (["count"], .moved)
    service.change(["count"])
    service.run(for: .seconds(300)) { _ in server.breaks >= 8 }
    #expect(server.breaks >= 8)
    #expect(!service.errors.contains(ConnectionBreakers.Kind.commit.error))
    server.poison = []
    service.run(for: .seconds(60))
    #expect(service.link.pendingChanges == 0)
  }

  @Test("A value that broke the connection is stored once the server accepts it, and sooner if a caller saves it")
  func recovers() throws {
    for asks in [false, true] {
      let server = Server()
      var service = try server.service(["poison", "other"])
      service.run(for: .seconds(1))
      server.poison = ["poison"]
      service.change(["poison", "other"])
      service.run(for: .seconds(300))
      let before = server.breaks
      // Each save is told why the value is not stored, and not every save breaks the connection.
      let poison = try #require(service.id(of: "poison"))
      for _ in 0..<1_000 {
        let told = service.resumed.count
        _ = try service.link.save(poison, stamp: 1, now: service.now)
        service.run(for: .seconds(20)) { $0.resumed.count > told }
        #expect(service.resumed.last == .some(ConnectionBreakers.Kind.commit.error))
        guard service.now < Instant.now + .seconds(400) else { break }
      }
      #expect(server.breaks - before <= 14)
      server.poison = []
      if asks { _ = try service.link.save(poison, stamp: 1, now: service.now) }
      service.run(for: asks ? .seconds(11) : .seconds(61))
      #expect(service.link.pendingChanges == 0)
      #expect(server.stored["poison"] != nil)
      #expect(service.saveErrors[poison] == nil)
      #expect(service.link.breaks.isEmpty)
    }
  }

  @Test("The first read does not end the back-off while the connection breaks at commits")
  func backoff() throws {
    let server = Server()
    var service = try server.service(["poison", "other"])
    service.losesReplies = true
    service.run(for: .seconds(1))
    server.poison = ["poison", "other"]
    service.change(["poison", "other"])
    service.run(for: .seconds(60)) { _ in server.breaks == 2 }
    #expect(service.link.session.failures == 2)
    // From then on each poisoned value has its own pause, and the connection serves all others.
    service.run(for: .seconds(60))
    #expect(server.breaks <= 24)
    #expect(service.link.session.phase == .connected)
    #expect(service.link.session.failures == 0)
  }

  @Test("Commits that were under way at two chance breaks are stored immediately and without an error")
  func innocents() throws {
    let names = (1...200).map { "value\($0)" }
    let server = Server()
    var service = try server.service(names + ["new"])
    service.run(for: .seconds(1))
    server.breakTwice(&service, at: names)
    #expect(service.link.members.ids.count { service.link.breaks.isSuspect($0, .commit) } == 200)
    service.run(for: .seconds(1)) { $0.link.session.phase == .connected }
    // A new change comes first.
    service.change(["new"])
    service.run(for: .seconds(1)) { _ in server.stored["new"] != nil }
    #expect(server.stored.count < 100)
    service.run(for: .milliseconds(300))
    #expect(service.link.pendingChanges == 0)
    #expect(service.saveErrors.isEmpty)
    #expect(service.companions == 0)
    #expect(service.link.breaks.isEmpty)
  }

  @Test("A commit that was alone at two chance breaks is not blamed for them")
  func innocent() throws {
    let server = Server()
    var service = try server.service(["value"])
    service.run(for: .seconds(1))
    server.breakTwice(&service, at: ["value"])
    service.run(for: .seconds(1)) { $0.link.pendingChanges == 0 }
    #expect(server.stored["value"] != nil)
    #expect(service.link.pendingChanges == 0)
    #expect(service.saveErrors.isEmpty)
  }

  @Test("An abandoned update that was under way at a break is forgotten when its value is read")
  func abandoned() throws {
    let start = Instant.now
    var link = LinkState.make()
    let id = try link.liveReplica("count", at: start)
    link.showAll()
    let waiter = try link.update(id, now: start)
    link.send(id, "1", at: start)
    link.forget(waiter)
    link.failed(epoch: 1, error: .disconnected(reason: "closed"), now: start)
    #expect(!link.breaks.isEmpty)
    let later = start + .seconds(1)
    _ = link.instruction(now: later)
    link.connect(at: later)
    link.answerOnce(at: later)
    #expect(link.breaks.isEmpty)
    #expect(link.breaks.isDone)
  }

  @Test("A commit that must be sent alone gets its turn despite constant other commits", arguments: [1, 150])
  func turns(milliseconds: Int) throws {
    let names = (1...10).map { "value\($0)" }
    let server = Server()
    var service = try server.service(names + others)
    service.run(for: .seconds(1))
    server.breakTwice(&service, at: names)
    service.run(for: .seconds(1)) { $0.link.session.phase == .connected }
    service.roundTrip = .milliseconds(milliseconds)
    var rounds = 0
    while service.link.breaks.isEmpty == false, rounds < 5_000 {
      service.change(others)
      service.run(for: .milliseconds(1))
      rounds += 1
    }
    #expect(service.link.breaks.isEmpty)
    #expect(names.allSatisfy { server.stored[$0] != nil })
    #expect(others.allSatisfy { server.stored[$0] != nil })
  }
}

extension AnsweredLink {
  fileprivate func id(of name: String) -> LinkState.ReplicaID? {
    link.members.ids.first { link.members[$0]?.replica.names.value == name }
  }

  fileprivate mutating func change(_ names: [String]) {
    for id in names.compactMap(id) { link.changed(id) }
  }
}

extension StoredValue {
  fileprivate static let nothing = StoredValue(meta: nil, content: .absent)
}
