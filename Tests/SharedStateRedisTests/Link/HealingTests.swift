import Foundation
import Testing

@testable import SharedStateRedis

@Suite("Services that heal together", .timeLimit(.minutes(5)))
struct HealingTests {
  private static let names = (0..<10_000).map { KeyNames(namespace: "", name: "value:\($0)", database: 0) }
  private static let meta = Meta(revision: Revision(5), parent: .none, kind: .set, writer: "other@host/1/n")
  private static let value = StoredValue(meta: meta, content: .document(Data("7".utf8)))

  private let start = Instant.now

  @Test("AcknowledgedSurvives: services that restore the same values do so in different orders")
  func parts() throws {
    var links = try (1...5).map { try link(seed: $0) }
    for index in links.indices {
      links[index].failed(epoch: links[index].session.epoch, error: .lost, now: start)
      _ = links[index].instruction(now: start + .seconds(60))
      links[index].connect(at: start)
    }
    var restored: Set<KeyNames> = []
    var refused = 0
    func stored(_ names: KeyNames) -> StoredValue {
      restored.contains(names) ? Self.value : StoredValue(meta: nil, content: .absent)
    }
    for pass in 0..<1_000 where restored.count < Self.names.count {
      let now = start + Subscriptions.pause * pass
      var announced: [Restore] = []
      for index in links.indices {
        for purpose in ConnectionPurpose.allCases {
          let work = links[index].work(for: purpose, epoch: links[index].session.epoch, now: now)
          for request in work?.requests ?? [] {
            let reply: RedisReply
            switch request.command {
            case .restore(let restore):
              let isFirst = restored.insert(restore.names).inserted
              if isFirst { announced.append(restore) } else { refused += 1 }
              reply = .commit(isFirst ? .committed(revision: Revision(5), parent: .none) : .conflict(Self.value))
            case .summarize(let names, _):
              reply = .summaries(names.map { StoredSummary(of: stored($0), listeners: nil) })
            case .read(let names): reply = .values(names.map(stored))
            default: reply = AnsweredLink.usual(request.command)
            }
            links[index].receive(.reply(id: request.id, reply), on: purpose, at: now)
          }
        }
      }
      for index in links.indices {
        for restore in announced {
          let channel = restore.names.channel
          let payload = restore.message.payload(on: channel, provenBy: links[index].secrets.newest)
          links[index].receive(.message(channel: channel, payload: payload), on: .subscriber, at: now)
        }
      }
    }
    #expect(restored.count == Self.names.count)
    #expect(refused < Self.names.count / 2)
  }

  /// A link that shares the values.
  private func link(seed: UInt64) throws -> LinkState {
    var link = LinkState(configuration: LinkState.make().configuration, seed: seed)
    for names in Self.names {
      let policy = ReplicaPolicy(writer: link.configuration.writer)
      _ = try link.join(names, name: names.value, valueType: "Int", policy: policy)
    }
    link.connect(at: start)
    for pass in 0..<100 {
      link.answerOnce(at: start + Subscriptions.pause * pass, stored: Self.value)
      link.showAll()
    }
    return link
  }
}

extension LinkState {
  fileprivate mutating func receive(_ event: RedisEvent, on purpose: ConnectionPurpose, at now: Instant) {
    arrived([event], on: purpose, epoch: session.epoch, now: now)
    showAll()
  }
}
