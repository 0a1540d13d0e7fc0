import Foundation
@testable import RedisConnectionContract
@testable import SharedStateRedis
import SharedStateRedisTesting
import Testing

@Suite("Failures of the in-process server's commits, messages and data", .timeLimit(.minutes(5)))
struct InProcessFaultTests {
  let server = InProcessRedis()

  // MARK: Commits

  @Test("A commit that is cut before it takes effect changes nothing")
  func cutBeforeCommit() throws {
    let probe = try InProcessProbe(server)
    server.cutBeforeNextCommit()
    try probe.send(.ping, probe.commit("1"), .ping)
    #expect(try probe.answered() == [1])
    #expect(failure { _ = try probe.events() }.isDisconnected)
    #expect(server.get(probe.names.value) == nil)
    let again = try InProcessProbe(server)
    #expect(try again.committed(again.commit("1"))?.parent == Revision.none)
  }

  @Test("A commit that is cut after it took effect is announced, and its retry is answered")
  func cutAfterCommit() throws {
    let probe = try InProcessProbe(server)
    let subscriber = try InProcessProbe(server, .subscriber)
    server.cutAfterNextCommit()
    try probe.send(.ping, probe.commit("1"), probe.commit("2", number: 2))
    #expect(try probe.answered() == [1])
    #expect(failure { _ = try probe.events() }.isDisconnected)
    #expect(server.get(probe.names.value) == "1")
    let again = try InProcessProbe(server)
    let retry = try again.committed(again.commit("1"))
    #expect(retry?.parent == Revision.none)
    let message = ChangeMessage(
      revision: try #require(retry).revision,
      parent: .none,
      writer: "test/host/1/nonce-of-a",
      content: .document(Data("1".utf8))
    )
    let payload = message.payload(on: probe.names.channel, provenBy: .sample)
    #expect(try subscriber.messages() == [String(decoding: payload, as: UTF8.self)])
  }

  @Test("Refused writes change nothing, while reads and pings are answered")
  func refusedWrites() throws {
    let probe = try InProcessProbe(server)
    server.refuseWrites(.permissionDenied(operation: "EVALSHA"))
    guard case .failure(.permissionDenied(operation: "EVALSHA"))? = try probe.reply(to: probe.commit("1")) else {
      Issue.record("The commit was not refused")
      return
    }
    #expect(server.keys == [])
    try probe.send(.ping, .read([probe.names]))
    #expect(try probe.answered() == [2, 3])
    server.acceptWrites()
    #expect(try probe.committed(probe.commit("1")) != nil)
  }

  // MARK: Messages

  @Test("Held messages arrive when they are released, in any order")
  func releasedMessages() throws {
    let subscribers = [try InProcessProbe(server, .subscriber), try InProcessProbe(server, .subscriber)]
    let channel = subscribers[0].names.channel
    server.holdMessages()
    for text in ["1", "2", "3", "4"] { server.publish(channel, text) }
    #expect(server.heldMessages.map { String(decoding: $0.payload, as: UTF8.self) } == ["1", "2", "3", "4"])
    #expect(server.heldMessages.allSatisfy { $0.channel == channel })
    #expect(subscribers.allSatisfy { !$0.isWoken })
    server.releaseMessage(at: 2)
    #expect(subscribers.allSatisfy { $0.isWoken })
    server.releaseMessage(at: 0)
    for subscriber in subscribers { #expect(try subscriber.messages() == ["3", "1"]) }
    server.releaseMessages()
    server.publish(channel, "5")
    for subscriber in subscribers { #expect(try subscriber.messages() == ["2", "4", "5"]) }
    #expect(server.heldMessages.isEmpty)
  }

  @Test("A held message reaches only clients that are subscribed from its publication to its release")
  func heldMessageRecipients() throws {
    let gone = try InProcessProbe(server, .subscriber)
    let stays = try InProcessProbe(server, .subscriber)
    server.holdMessages()
    server.publish(stays.names.channel, "1")
    try gone.send(.unsubscribe([gone.names.channel]))
    let late = try InProcessProbe(server, .subscriber)
    server.releaseMessages()
    #expect(try stays.messages() == ["1"])
    #expect(try gone.messages() == [])
    #expect(try late.messages() == [])
  }

  @Test("A message without subscribers is not held")
  func messageWithoutSubscribers() {
    server.holdMessages()
    #expect(server.publish("nobody", "x") == 0)
    #expect(server.heldMessages.isEmpty)
  }

  @Test("Dropped messages are lost, duplicated ones arrive twice, and later ones arrive once")
  func droppedAndDuplicatedMessages() throws {
    let subscriber = try InProcessProbe(server, .subscriber)
    let channel = subscriber.names.channel
    server.dropMessages(next: 2)
    server.duplicateMessages()
    server.publish("nobody", "x")
    for text in ["1", "2", "3", "4"] { #expect(server.publish(channel, text) == 1) }
    #expect(try subscriber.messages() == ["3", "3", "4"])
  }

  @Test("A subscriber that leaves more than 32 MB unread is cut, unlike one that reads")
  func slowSubscriber() throws {
    let slow = try InProcessProbe(server, .subscriber)
    let fast = try InProcessProbe(server, .subscriber)
    let megabyte = Data(repeating: 0, count: 1 << 20)
    for _ in 0..<32 {
      server.publish(slow.names.channel, megabyte)
      #expect(try fast.messages().count == 1)
    }
    #expect(server.clients.count == 2)
    server.publish(slow.names.channel, "x")
    #expect(server.clients.count == 1)
    #expect(failure { _ = try slow.events() }.isDisconnected)
    #expect(try fast.messages() == ["x"])
  }

  // MARK: Data

  @Test("A server that loses its data is empty and closes all connections")
  func lostData() throws {
    let probe = try InProcessProbe(server)
    let subscriber = try InProcessProbe(server, .subscriber)
    server.holdMessages()
    _ = try probe.reply(to: probe.commit("1"))
    #expect(server.heldMessages.count == 1)
    server.loseData()
    #expect(server.heldMessages.isEmpty)
    #expect(server.keys == [])
    #expect(server.clients == [])
    #expect(failure { try probe.send(.ping) }.isDisconnected)
    #expect(subscriber.isWoken)
  }

  @Test("Restoring a snapshot discards everything later and closes all connections")
  func restoredSnapshot() throws {
    let probe = try InProcessProbe(server)
    let first = try #require(try probe.committed(probe.commit("1"))).revision
    let snapshot = server.snapshot()
    _ = try probe.reply(to: probe.commit("2", number: 2))
    server.set("later", "x")
    server.restore(snapshot)
    #expect(server.clients == [])
    #expect(server.get(probe.names.value) == "1")
    #expect(server.get("later") == nil)
    let again = try InProcessProbe(server)
    #expect(try again.committed(again.commit("2", number: 2))?.parent == first)
  }
}
