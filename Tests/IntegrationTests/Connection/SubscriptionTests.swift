import Foundation
@testable import SharedStateRedis
import SharedStateRedisTesting
import Testing

@Suite("Subscriptions of a connection", .timeLimit(.minutes(5)))
struct SubscriptionTests {
  @Test(
    "A subscriber receives the messages of its own channels only and answers pings",
    arguments: PrivateRedisServer.Address.allCases
  )
  func ownChannels(address: PrivateRedisServer.Address) throws {
    let server = try PrivateRedisServer(address)
    let writer = try ConnectionDriver(server)
    let subscriber = try ConnectionDriver(server, .subscriber)
    let names = (0..<3).map { KeyNames(namespace: "", name: "key\($0)", database: 0) }
    guard case .pong = try subscriber.reply(to: .ping) else {
      Issue.record("A connection without a subscription does not answer.")
      return
    }
    try subscriber.subscribe([names[0].channel, names[1].channel])
    for name in names { _ = try writer.committed(.sample(name)) }
    #expect(try subscriber.message().channel == names[0].channel)
    #expect(try subscriber.message().channel == names[1].channel)
    guard case .unsubscribed = try subscriber.reply(to: .unsubscribe([names[0].channel])) else {
      Issue.record("The end of a subscription is not confirmed.")
      return
    }
    for name in names { _ = try writer.committed(.sample(name, number: 2)) }
    #expect(try subscriber.messagesSoFar().count == 1)
    guard case .unsubscribed = try subscriber.reply(to: .unsubscribe([names[1].channel])) else {
      Issue.record("The end of the last subscription is not confirmed.")
      return
    }
    #expect(try subscriber.messagesSoFar().isEmpty)
  }

  @Test("Ten thousand messages arrive in order")
  func messagesInOrder() throws {
    let server = try PrivateRedisServer()
    let writer = try ConnectionDriver(server)
    let subscriber = try ConnectionDriver(server, .subscriber)
    try subscriber.subscribe([KeyNames.sample.channel])
    _ = try writer.replies(
      to: (0..<10_000).map { .commit(.sample(.sample, .text("\($0)"), number: $0)) }
    )
    for number in 0..<10_000 {
      guard try subscriber.message().message.content == .document(Data("\(number)".utf8)) else {
        Issue.record("Message \(number) is not the expected one.")
        return
      }
    }
  }

  @Test("A subscription to a thousand channels is confirmed as one request")
  func thousandChannels() throws {
    let server = try PrivateRedisServer()
    let subscriber = try ConnectionDriver(server, .subscriber)
    try subscriber.subscribe((0..<1_000).map { "channel\($0)" })
    #expect(try server.command("PUBSUB", "CHANNELS").elements.count == 1_000)
  }
}
