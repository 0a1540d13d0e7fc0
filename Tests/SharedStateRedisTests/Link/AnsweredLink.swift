import Foundation
import Testing

@testable import SharedStateRedis

/// A link whose every request is answered, by a simulated clock. It records the requests.
struct AnsweredLink {
  var link: LinkState
  var now: Instant
  var value = 0
  var requests: [String] = []
  var errors: [RedisSharedStateError] = []
  var resumed: [RedisSharedStateError?] = []
  var losses: [String] = []
  /// Answers a request. For `nil`, the link gets the answer of a server that stores nothing.
  var answer: (RedisRequest.Command, _ count: Int) -> RedisReply?

  mutating func run(for duration: Duration, unless isOver: (AnsweredLink) -> Bool = { _ in false }) {
    let end = now + duration
    while now < end, requests.count < 20_000, !isOver(self) {
      var next = end
      for purpose in [ConnectionPurpose.subscriber, .writer] {
        guard let work = link.work(for: purpose, epoch: link.session.epoch, now: now) else { return }
        var sent = work.requests
        for (id, encoding) in work.encodings {
          let documents = Replica.Documents(encoded: Data("1".utf8), merged: Data("\(value)".utf8))
          value += 1
          let result: Result<Replica.Documents?, RedisSharedStateError> = .success(documents)
          let encoded = Replica.Encoded(stamp: encoding.updates.isEmpty ? 1 : 0, result: result)
          if let request = link.encoded(id, encoded, now: now) { sent.append(request) }
        }
        for request in sent {
          let reply: RedisReply
          switch request.command {
          case .ping, .role: reply = .pong
          default:
            requests.append("\(request.command)")
            reply = answer(request.command, requests.count) ?? Self.usual(request.command)
          }
          link.arrived([.reply(id: request.id, reply)], on: purpose, epoch: link.session.epoch, now: now)
        }
        handleEffects()
        next = sent.isEmpty ? min(next, work.waitUntil) : now
      }
      now = max(next, now + .microseconds(100))
    }
  }

  private mutating func handleEffects() {
    while link.hasEffects {
      for effect in link.takeEffects() {
        switch effect {
        case .show(let id, let delivery, _): link.delivered(delivery, to: id, outcome: .shown)
        case .status(_, .saveError(let error?), _, _), .status(_, .loadError(let error?), _, _): errors.append(error)
        case .resume(_, let error, _, _): resumed.append(error)
        case .losesAgain(let name): losses.append(name)
        default: break
        }
      }
    }
  }

  static func usual(_ command: RedisRequest.Command) -> RedisReply {
    switch command {
    case .read(let names): .values(names.map { _ in StoredValue(meta: nil, content: .absent) })
    case .summarize(let names): .summaries(names.map { _ in StoredSummary(meta: nil, length: 0) })
    case .subscribe: .subscribed
    case .unsubscribe: .unsubscribed
    case .track: .tracking
    default: .pong
    }
  }

  /// The number of requests that are commits.
  var commits: Int { requests.count { $0.hasPrefix("commit") } }
}
