import Foundation
@testable import SharedStateRedis

extension RedisConnectionContract {
  /// Promises about users with restricted rights. These checks change the rights of all clients of a server, so each
  /// needs a server of its own.
  static let rightChecks = [
    RedisConnectionContract("a read fails as a whole if one key is not permitted, and a read without that key succeeds")
    {
      scene in
      let client = try scene.connect()
      let (open, closed) = (scene.names("open"), scene.names("closed"))
      try client.commit(open, .text("1"))
      try client.commit(closed, .text("1"))
      try scene.permit(keys: "open")
      try expectRefusal(client.request(.read([open, closed]))[0], of: "MGET", keys: [])
      try expectRefusal(client.request(.read([closed]))[0], of: "MGET", keys: [closed.value, closed.meta])
      let lookedUp = try client.request(.summarize([closed]))[0]
      guard case .failure(let error) = lookedUp, case .permissionDenied(_, let subject?) = error.cause else {
        throw Violation("a summary of one key is answered with \(lookedUp)")
      }
      try expect(subject.name, is: "closed", "the name of the value")
      let summary = try client.request(.summarize([open, closed]))[0]
      guard case .failure(let refusal) = summary, refusal.code == .permissionDenied else {
        throw Violation("a summary is answered with \(summary)")
      }
      try expect(client.read(open).map(\.content), is: [.text("1")], "the permitted key")
      try expect(client.summarize(open).map(\.length), is: [1], "the permitted summary")
      try scene.permit()
      try expect(
        client.read(open, closed).map(\.content),
        is: [.text("1"), .text("1")],
        "the keys once all are permitted"
      )
    },

    RedisConnectionContract("a commit or a restore of a key that is not permitted is refused, and harms no other") {
      scene in
      let client = try scene.connect()
      let (open, closed) = (scene.names("open"), scene.names("closed"))
      try scene.permit(keys: "open")
      let restores = [closed, open].map { names in
        Restore(
          names: names,
          content: .text("1"),
          meta: Meta(revision: Revision(7), parent: Revision(6), kind: .set, writer: client.writer),
          isLarge: false
        )
      }
      let replies = try client.request(
        .commit(client.makeCommit(closed, .text("1"))),
        .restore(restores[0]),
        .restore(restores[1]),
        .commit(client.makeCommit(closed, .large(Data(repeating: 49, count: 20_000))))
      )
      let keys = closed.scriptKeys
      try expectRefusal(replies[0], of: "EVALSHA", keys: keys)
      try expectRefusal(replies[1], of: "EVALSHA", keys: keys)
      guard case .commit(.committed(Revision(7), _, nil)) = replies[2] else {
        throw Violation("a restore that is permitted is answered with \(replies[2])")
      }
      guard case .failure(let error) = replies[3], error.code == .permissionDenied else {
        throw Violation("a large document is answered with \(replies[3])")
      }
      try expect(client.commit(open, .text("2")).parent, is: Revision(7), "the parent of a permitted commit")
      try scene.permit()
      try expect(client.read(closed).map(\.content), is: [.absent], "the key that was not permitted")
    },

    RedisConnectionContract("a subscription fails as a whole if one channel is not permitted") { scene in
      let client = try scene.connect(.subscriber)
      let writer = try scene.connect()
      let (open, closed) = (scene.names("open"), scene.names("closed"))
      try scene.permit(channels: "open")
      let channels = [open.channel, closed.channel]
      try expectRefusal(client.request(.subscribe(channels))[0], of: "SUBSCRIBE", .channel, keys: [])
      let channel = closed.channel
      try expectRefusal(client.request(.subscribe([channel]))[0], of: "SUBSCRIBE", .channel, keys: [channel])
      try client.subscribe([open.channel])
      try writer.commit(open, .text("1"))
      try expect(client.nextMessage().channel, is: open.channel, "the channel of the message")
      try scene.permit()
    },

    RedisConnectionContract("a write that may not be announced takes effect, and its answer says so") { scene in
      let client = try scene.connect()
      let names = scene.names()
      try scene.permit(channels: "open")
      let commit = client.makeCommit(names, .text("1"))
      let answer = try client.reply(to: commit)
      guard case .committed(let first, .none, let refusal?) = answer, refusal.command == "PUBLISH",
        refusal.error.code == .permissionDenied
      else {
        throw Violation("a commit that took effect without an announcement is answered with \(answer)")
      }
      try expect(client.reply(to: commit), is: .committed(revision: first, parent: .none), "the answer to a retry")
      let next = client.makeCommit(names, .text("2"), when: .revision(first))
      let nextAnswer = try client.reply(to: next)
      guard case .committed(let second, first, refusal) = nextAnswer else {
        throw Violation("another one is answered with \(nextAnswer)")
      }
      try expect(client.read(names).map(\.content), is: [.text("2")], "what is stored")
      let meta = Meta(
        revision: Revision(second.rawValue + 1),
        parent: second,
        kind: .set,
        writer: "w"
      )
      var restore = Restore(names: names, content: .text("3"), meta: meta, isLarge: false)
      restore.expected = try client.read(names)[0].meta
      let restored = try client.replies(to: [restore])
      let stored = StoredValue(meta: meta, content: .text("3"))
      try expect(
        restored,
        is: [.committed(revision: meta.revision, parent: meta.parent, refusal)],
        "the answer to the restore"
      )
      try expect(client.read(names), is: [stored], "what is stored")
      try scene.permit()
    },
  ]

  private static func expectRefusal(
    _ reply: RedisReply,
    of operation: String,
    _ kind: DeniedSubject.Kind = .key,
    keys: [String]
  ) throws {
    guard case .failure(let error) = reply, case .permissionDenied(operation, let subject?) = error.cause else {
      throw Violation("what is not permitted is answered with \(reply)")
    }
    try expect(subject.kind, is: kind, "what the user lacks the right for")
    try expect(subject.names, is: keys, "its names")
  }
}
