import Foundation
@testable import RedisConnectionContract
@testable import SharedStateRedis
import SharedStateRedisTesting
import Testing

@Suite("Failures of the in-process server's connections", .timeLimit(.minutes(5)))
struct InProcessConnectionTests {
  let server = InProcessRedis()

  @Test("Open connections are listed, oldest first")
  func listsOpenConnections() throws {
    let first = try InProcessProbe(server, client: "a")
    let second = try InProcessProbe(server, .subscriber, client: "b")
    #expect(server.clients == ["a:writer", "b:subscriber"])
    first.connection.close()
    #expect(server.clients == ["b:subscriber"])
    server.cutConnections()
    #expect(server.clients == [])
    second.connection.close()
  }

  @Test("A released connection is closed")
  func releasedConnection() throws {
    _ = try InProcessProbe(server)
    #expect(server.clients == [])
  }

  @Test("A closed connection can neither send nor receive")
  func closedConnection() throws {
    let probe = try InProcessProbe(server)
    probe.connection.close()
    #expect(failure { try probe.send(.ping) }.isDisconnected)
    #expect(failure { _ = try probe.events() }.isDisconnected)
  }

  @Test(
    "Cutting breaks exactly the selected connections",
    arguments: [
      (InProcessRedis.Connections.all, String?.none, [String]()),
      (.writers, nil, ["a:subscriber", "b:subscriber"]),
      (.subscribers, nil, ["a:writer", "b:writer"]),
      (.all, "a", ["b:writer", "b:subscriber"]),
      (.subscribers, "b", ["a:writer", "a:subscriber", "b:writer"]),
    ]
  )
  func cutSelection(
    connections: InProcessRedis.Connections,
    client: String?,
    left: [String]
  ) throws {
    let probes = try ["a", "b"].flatMap { name in
      try [InProcessProbe(server, client: name), InProcessProbe(server, .subscriber, client: name)]
    }
    server.cutConnections(connections, of: client)
    #expect(server.clients == left)
    #expect(probes.filter(\.isWoken).count == 4 - left.count)
    #expect(probes.filter { probe in failure { try probe.send(.ping) }.isDisconnected }.count == 4 - left.count)
  }

  @Test("Replies that arrived before a cut are read before the failure")
  func repliesBeforeCut() throws {
    let probe = try InProcessProbe(server)
    try probe.send(.ping)
    server.cutConnections()
    #expect(try probe.answered() == [1])
    #expect(failure { _ = try probe.events() }.isDisconnected)
    #expect(failure { _ = try probe.events() }.isDisconnected)
  }

  @Test("A cut connection is no longer subscribed, and a new one can subscribe immediately")
  func subscriptionAfterCut() throws {
    let old = try InProcessProbe(server, .subscriber)
    server.cutConnections()
    #expect(server.publish(old.names.channel, "x") == 0)
    let new = try InProcessProbe(server, .subscriber)
    #expect(server.publish(new.names.channel, "x") == 1)
    #expect(try new.messages() == ["x"])
  }

  @Test(
    "New connections are refused with the requested error while open ones remain usable",
    arguments: [RedisSharedStateError.unreachable(reason: "down"), .authenticationFailed, .notPrimary]
  )
  func refusedConnections(error: RedisSharedStateError) throws {
    let open = try InProcessProbe(server)
    server.refuseConnections(error, keepingOpenConnections: true)
    #expect(failure { _ = try InProcessProbe(server) } == error)
    try open.send(.ping)
    #expect(try open.answered() == [1])
    server.acceptConnections()
    #expect(failure { _ = try InProcessProbe(server) } == nil)
  }

  @Test("An unreachable server also closes its open connections")
  func unreachableServer() throws {
    let open = try InProcessProbe(server)
    server.refuseConnections()
    #expect(failure { try open.send(.ping) }?.code == .disconnected)
    #expect(failure { _ = try InProcessProbe(server) }?.code == .unreachable)
    server.acceptConnections()
    #expect(failure { _ = try InProcessProbe(server) } == nil)
  }

  @Test("A paused server answers nothing until it resumes, then everything in order")
  func pauseAndResume() throws {
    let writer = try InProcessProbe(server)
    let subscriber = try InProcessProbe(server, .subscriber)
    server.pause()
    try writer.send(.ping, writer.commit("1"))
    try writer.send(.ping)
    server.publish(subscriber.names.channel, "x")
    #expect(try writer.answered() == [])
    #expect(try subscriber.messages() == [])
    #expect(server.get(writer.names.value) == nil)
    server.resume()
    #expect(writer.isWoken && subscriber.isWoken)
    #expect(try writer.answered() == [1, 2, 3])
    #expect(try subscriber.messages().count == 2)
  }

  @Test("A request to a paused server is carried out although its connection was closed")
  func closedWhilePaused() throws {
    let probe = try InProcessProbe(server)
    server.pause()
    try probe.send(probe.commit("late"))
    probe.connection.close()
    #expect(server.clients == [])
    server.resume()
    #expect(server.get(probe.names.value) == "late")
    #expect(failure { try probe.send(.ping) }.isDisconnected)
  }

  @Test(
    "A request to a paused server is lost if connections are cut or the server loses its data",
    arguments: [true, false]
  )
  func lostWhilePaused(isRestart: Bool) throws {
    let probe = try InProcessProbe(server)
    server.pause()
    try probe.send(probe.commit("lost"))
    if isRestart {
      probe.connection.close()
      server.loseData()
    } else {
      server.cutConnections()
      #expect(failure { _ = try probe.events() }.isDisconnected)
    }
    server.resume()
    #expect(server.get(probe.names.value) == nil)
  }

  @Test("Connecting to a paused server times out")
  func connectTimesOut() {
    server.pause()
    let error = failure {
      _ = try InProcessConnector(server).connect(purpose: .writer, waker: Waker(), deadline: .now + .milliseconds(5))
    }
    #expect(error == .timedOut(operation: "connect"))
  }

  @Test("Connecting to a paused server times out even if the waker is woken")
  func wakeWhilePaused() {
    server.pause()
    let waker = Waker()
    waker.wake()
    let error = failure {
      _ = try InProcessConnector(server).connect(purpose: .writer, waker: waker, deadline: .now + .milliseconds(5))
    }
    #expect(error == .timedOut(operation: "connect"))
  }

  @Test("Connecting to a paused server succeeds once it resumes")
  func connectAfterResume() throws {
    server.pause()
    Thread.detachNewThread { [server] in server.resume() }
    let probe = try InProcessProbe(server)
    try probe.send(.ping)
    #expect(try probe.answered() == [1])
  }
}
