import Foundation
@testable import SharedStateRedis

extension RedisConnectionContract {
  static let messageChecks = [
    RedisConnectionContract("the server announces every commit, in order, with its content") { scene in
      let client = try scene.connect()
      let names = scene.names()
      let subscriber = try scene.subscribe(to: names)
      let document = Data((0...255).map { UInt8($0) })
      let contents: [(Commit.Content, ChangeMessage.Content)] = [
        (.document(document, isLarge: false), .document(document)),
        (.document(Data(), isLarge: false), .document(Data())),
        (.document(document, isLarge: true), .reference),
        (.deleted, .deleted),
      ]
      for _ in 0..<25 {
        for (content, announced) in contents {
          let (revision, parent) = try client.commit(names, content)
          let expected = ChangeMessage(revision: revision, parent: parent, writer: client.writer, content: announced)
          let (channel, payload) = try subscriber.nextMessage()
          try expect(channel, is: names.channel, "the channel")
          try expect(payload, is: expected.payload(on: names.channel, provenBy: .sample), "the payload")
          try expect(ChangeMessage(payload: payload), is: expected, "the message")
        }
      }
    },

    RedisConnectionContract("messages that pile up keep their order") { scene in
      let client = try scene.connect()
      let names = [scene.names("a"), scene.names("b")]
      let subscriber = try scene.subscribe(to: names[0], names[1])
      let commits = (0..<200).map { client.makeCommit(names[$0 % 2], .text("\($0)")) }
      _ = try client.request(commits.map { .commit($0) })
      for round in 0..<200 {
        let (channel, payload) = try subscriber.nextMessage()
        try expect(channel, is: names[round % 2].channel, "the channel of message \(round)")
        let content = ChangeMessage(payload: payload)?.content
        try expect(content, is: .document(Data("\(round)".utf8)), "message \(round)")
      }
    },

    RedisConnectionContract("a subscriber receives no earlier message, and none of another channel") { scene in
      let client = try scene.connect()
      let (names, others) = (scene.names("a"), scene.names("b"))
      try client.commit(names, .text("1"))
      let subscriber = try scene.subscribe(to: names)
      try client.commit(others, .text("1"))
      let revision = try client.commit(names, .text("2")).revision
      try expect(subscriber.nextChange().revision, is: revision, "the first revision that is heard of")
    },

    RedisConnectionContract("every subscriber receives every message once, however often it has subscribed") { scene in
      let client = try scene.connect()
      let names = scene.names()
      let subscribers = [try scene.subscribe(to: names), try scene.subscribe(to: names, names)]
      try subscribers[0].subscribe([names.channel])
      for _ in 0..<3 {
        let revision = try client.commit(names, .text("1")).revision
        for subscriber in subscribers {
          try expect(subscriber.nextChange().revision, is: revision, "the revision that is heard of")
        }
      }
    },

    RedisConnectionContract("a subscriber that has unsubscribed receives no more messages of that channel") { scene in
      let client = try scene.connect()
      let (names, others) = (scene.names("a"), scene.names("b"))
      let subscriber = try scene.subscribe(to: names, others)
      try subscriber.unsubscribe([names.channel, scene.names("never").channel])
      try client.commit(names, .text("1"))
      let heard = try client.commit(others, .text("1")).revision
      try expect(subscriber.nextChange().revision, is: heard, "the revision that is heard of")
      try subscriber.unsubscribe([others.channel])
      try subscriber.ping()
      try subscriber.subscribe([names.channel])
      let again = try client.commit(names, .text("2")).revision
      try expect(subscriber.nextChange().revision, is: again, "the revision that is heard of again")
    },

    RedisConnectionContract("the server announces no conflict and no wrong type") { scene in
      let client = try scene.connect()
      let names = scene.names()
      let subscriber = try scene.subscribe(to: names)
      try scene.foreign("LPUSH", names.value, "x")
      _ = try client.reply(to: client.makeCommit(names, .text("1")))
      _ = try client.reply(to: client.makeCommit(names, .text("2"), when: .revision(Revision(1))))
      let revision = try client.commit(names, .text("3"), when: .replacing(.none)).revision
      try expect(subscriber.nextChange().revision, is: revision, "the first revision that is heard of")
    },

    RedisConnectionContract("a message that somebody else publishes arrives unchanged") { scene in
      let names = scene.names()
      let subscriber = try scene.subscribe(to: names)
      for text in ["", "2 unknown version\n", "nonsense"] {
        try scene.foreign("PUBLISH", names.channel, text)
        let (channel, payload) = try subscriber.nextMessage()
        try expect(channel, is: names.channel, "the channel")
        try expect(payload, is: Data(text.utf8), "the payload")
      }
    },

    RedisConnectionContract("a message ends the wait of a subscriber") { scene in
      let names = scene.names()
      let subscriber = try scene.subscribe(to: names)
      for _ in 0..<20 {
        let commit = scene.onAnotherThread { scene in
          let client = try scene.connect()
          // Gives the subscriber time to begin waiting, most likely.
          for _ in 0..<100 { try client.ping() }
          return try client.commit(names, .text("1")).revision
        }
        let heard = try subscriber.nextChange().revision
        try expect(heard, is: commit.result.get(), "the revision that is heard of")
      }
    },

    RedisConnectionContract("simultaneous commits form one chain, and their messages arrive in its order") { scene in
      let names = scene.names()
      let subscriber = try scene.subscribe(to: names)
      let committing = (0..<4).map { _ in
        scene.onAnotherThread { scene in
          let client = try scene.connect()
          return try (0..<50).map { try client.commit(names, .text("\($0)")).revision }
        }
      }
      let committed = try committing.flatMap { try $0.result.get() }
      var last = Revision.none
      for _ in committed {
        let change = try subscriber.nextChange()
        try expect(change.meta.parent, is: last, "the parent of \(change.revision)")
        last = change.revision
      }
      try expect(committed.max(), is: last, "the last revision")
      try expect(Set(committed).count, is: committed.count, "the number of different revisions")
    },

    RedisConnectionContract("messages and pings do not disturb each other") { scene in
      let client = try scene.connect()
      let names = scene.names()
      let subscriber = try scene.subscribe(to: names)
      for _ in 0..<20 {
        let revision = try client.commit(names, .text("1")).revision
        try subscriber.ping()
        try expect(subscriber.nextChange().revision, is: revision, "the revision that is heard of")
      }
    },
  ]
}
