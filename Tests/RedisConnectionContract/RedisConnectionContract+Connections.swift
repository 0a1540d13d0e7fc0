import Foundation
@testable import SharedStateRedis

extension RedisConnectionContract {
  static let connectionChecks = [
    RedisConnectionContract("connections of both purposes answer a ping") { scene in
      for purpose in ConnectionPurpose.allCases { try scene.connect(purpose).ping() }
    },

    RedisConnectionContract("the server carries out and answers a batch in its order") { scene in
      let client = try scene.connect()
      let names = scene.names()
      let replies = try client.request(
        .ping,
        .commit(client.makeCommit(names, .text("1"))),
        .read([names]),
        .commit(client.makeCommit(names, .text("2"))),
        .read([names])
      )
      guard
        case .pong = replies[0],
        case .commit(.committed(let first, _, nil)) = replies[1],
        case .values(let afterFirst) = replies[2],
        case .commit(.committed(let second, let parent, nil)) = replies[3],
        case .values(let afterSecond) = replies[4]
      else { throw Violation("the replies do not fit their requests: \(replies)") }
      try expect(parent, is: first, "the second commit's parent")
      try expect(afterFirst.map(\.content), is: [.text("1")], "what is read after the first commit")
      try expect(afterSecond.map(\.content), is: [.text("2")], "what is read after the second commit")
      try expect(afterSecond.map(\.meta?.revision), is: [second], "the revision after the second commit")
    },

    RedisConnectionContract("a receive without events ends when its deadline passes") { scene in
      let client = try scene.connect()
      try client.ping()
      let deadline = Instant.now + .milliseconds(20)
      // A wake-up that is left over may end a receive early.
      while .now < deadline {
        let events = try client.connection.receive(until: deadline, waker: client.waker)
        try expect(events.isEmpty, "nothing was asked for, but there came \(events)")
      }
    },

    RedisConnectionContract("a receive with a deadline in the past still returns events that have arrived") { scene in
      let client = try scene.connect()
      try client.connection.send([RedisRequest(id: 1, command: .ping)])
      let patience = Instant.now + .seconds(10)
      var events: [RedisEvent] = []
      while events.isEmpty, .now < patience {
        events = try client.connection.receive(until: .now + .seconds(-1), waker: client.waker)
      }
      guard case .reply(1, .pong)? = events.first else { throw Violation("the ping is answered with \(events)") }
    },

    RedisConnectionContract("a wake-up ends the present wait, or else the next one") { scene in
      let client = try scene.connect(.subscriber)
      let deadline = Instant.now + .seconds(60)
      client.waker.wake()
      try expect(
        client.connection.receive(until: deadline, waker: client.waker).isEmpty,
        "a waker that was woken brings no events"
      )
      let waker = client.waker
      Thread.detachNewThread { waker.wake() }
      try expect(
        client.connection.receive(until: deadline, waker: client.waker).isEmpty,
        "a waker that is woken brings no events"
      )
      try expect(.now < deadline, "waking did not end the wait")
      try client.ping()
    },

    RedisConnectionContract("a subscribed connection answers pings") { scene in
      let client = try scene.subscribe(to: scene.names())
      try client.ping()
      try client.ping()
    },

    RedisConnectionContract("a second close has no effect, and other connections stay open") { scene in
      let names = scene.names()
      let writer = try scene.connect()
      let closed = try scene.subscribe(to: names)
      let other = try scene.subscribe(to: names)
      closed.connection.close()
      closed.connection.close()
      let revision = try writer.commit(names, .text("1")).revision
      try expect(other.nextChange().revision, is: revision, "the revision that the other one hears of")
    },
  ]
}
