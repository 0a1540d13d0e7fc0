import Foundation
import SharedStateRedis
import SharedStateRedisTesting
import Testing

@Suite("Failures of the in-process server's connections", .timeLimit(.minutes(5)))
struct InProcessConnectionTests {
  let server = InProcessRedis()

  @Test func `open connections are listed, oldest first`() throws {
    let first = try InProcessProbe(server, client: "a")
    let second = try InProcessProbe(server, .subscriber, client: "b")
    #expect(server.clients == ["a:writer", "b:subscriber"])
    first.connection.close()
    #expect(server.clients == ["b:subscriber"])
    server.cutConnections()
    #expect(server.clients == [])
    second.connection.close()
  }

  @Test func `a connection that nobody holds is closed`() throws {
    _ = try InProcessProbe(server)
    #expect(server.clients == [])
  }

  @Test func `a closed connection takes and gives nothing`() throws {
    let probe = try InProcessProbe(server)
    probe.connection.close()
    #expect(failure { try probe.send(.ping) }.isDisconnected)
    #expect(failure { _ = try probe.events() }.isDisconnected)
  }

  @Test(arguments: [
    (InProcessRedis.Connections.all, String?.none, [String]()),
    (.writers, nil, ["a:subscriber", "b:subscriber"]),
    (.subscribers, nil, ["a:writer", "b:writer"]),
    (.all, "a", ["b:writer", "b:subscriber"]),
    (.subscribers, "b", ["a:writer", "a:subscriber", "b:writer"]),
  ])
  func `cutting breaks the connections that are meant`(
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

  @Test func `what arrived before the cut is still read, and then the failure`() throws {
    let probe = try InProcessProbe(server)
    try probe.send(.ping)
    server.cutConnections()
    #expect(try probe.answered() == [1])
    #expect(failure { _ = try probe.events() }.isDisconnected)
    #expect(failure { _ = try probe.events() }.isDisconnected)
  }

  @Test func `a connection that was cut is no longer subscribed, and a new one may come at once`() throws {
    let old = try InProcessProbe(server, .subscriber)
    server.cutConnections()
    #expect(server.publish(old.names.channel, "x") == 0)
    let new = try InProcessProbe(server, .subscriber)
    #expect(server.publish(new.names.channel, "x") == 1)
    #expect(try new.messages() == ["x"])
  }

  @Test(arguments: [RedisSharedStateError.unreachable(reason: "down"), .authenticationFailed, .notPrimary])
  func `connections are refused with the error that was asked for`(error: RedisSharedStateError) throws {
    let open = try InProcessProbe(server)
    server.refuseConnections(error, keepingOpenConnections: true)
    #expect(failure { _ = try InProcessProbe(server) } == error)
    try open.send(.ping)
    #expect(try open.answered() == [1])
    server.acceptConnections()
    #expect(failure { _ = try InProcessProbe(server) } == nil)
  }

  @Test func `a server that cannot be reached has no open connections, either`() throws {
    let open = try InProcessProbe(server)
    server.refuseConnections()
    #expect(failure { try open.send(.ping) }?.code == .disconnected)
    #expect(failure { _ = try InProcessProbe(server) }?.code == .unreachable)
    server.acceptConnections()
    #expect(failure { _ = try InProcessProbe(server) } == nil)
  }

  @Test func `a paused server answers nothing, and everything in order once it resumes`() throws {
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

  @Test func `a request to a paused server is carried out although its connection was closed`() throws {
    let probe = try InProcessProbe(server)
    server.pause()
    try probe.send(probe.commit("late"))
    probe.connection.close()
    #expect(server.clients == [])
    server.resume()
    #expect(server.get(probe.names.value) == "late")
    #expect(failure { try probe.send(.ping) }.isDisconnected)
  }

  @Test(arguments: [true, false])
  func `a request to a paused server is lost with its connection`(isRestart: Bool) throws {
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

  @Test func `connecting to a paused server waits until the deadline`() {
    server.pause()
    let error = failure {
      _ = try InProcessConnector(server).connect(purpose: .writer, waker: Waker(), deadline: .now + .milliseconds(5))
    }
    #expect(error == .timedOut(operation: "connect"))
  }

  @Test func `waking does not end the wait for a paused server`() {
    server.pause()
    let waker = Waker()
    waker.wake()
    let error = failure {
      _ = try InProcessConnector(server).connect(purpose: .writer, waker: waker, deadline: .now + .milliseconds(5))
    }
    #expect(error == .timedOut(operation: "connect"))
  }

  @Test func `connecting to a paused server succeeds once it resumes`() throws {
    server.pause()
    Thread.detachNewThread { [server] in server.resume() }
    let probe = try InProcessProbe(server)
    try probe.send(.ping)
    #expect(try probe.answered() == [1])
  }
}
