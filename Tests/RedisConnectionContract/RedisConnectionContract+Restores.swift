import Foundation
@testable import SharedStateRedis

extension RedisConnectionContract {
  static let restoreChecks = [
    RedisConnectionContract("a restore puts back a value with its revision, parent and writer, and announces it") {
      scene in
      let client = try scene.connect()
      let names = scene.names()
      let subscriber = try scene.subscribe(to: names)
      for (isLarge, content) in [(false, ChangeMessage.Content.document(Data("7".utf8))), (true, .reference)] {
        let restore = Restore.sample(names, 5, "7", isLarge: isLarge)
        try expect(client.replies(to: [restore]), is: [.sample(5)], "the answer")
        try expect(client.read(names), is: [StoredValue(meta: restore.meta, content: .text("7"))], "what is stored")
        let message = ChangeMessage(
          revision: Revision(5),
          parent: Revision(4),
          writer: "lost/host/1/n",
          content: content
        )
        try expect(subscriber.nextChange(), is: message, "the message")
        try scene.foreign("DEL", names.value, names.meta)
      }
    },

    RedisConnectionContract("a restored tombstone deletes, and expires") { scene in
      let client = try scene.connect()
      let names = scene.names()
      try client.replies(to: [.sample(names, 5, "7")])
      try expect(client.replies(to: [.sample(names, 6, nil, over: 5)]), is: [.sample(6)], "the answer")
      let stored = try client.read(names)[0]
      try expect(stored.content, is: .absent, "the value")
      try expect(stored.meta?.kind, is: .deleted, "the kind")
      try expect(scene.lifetime(of: names.meta, isAbout: 604_800), "the tombstone stays for ever")
    },

    RedisConnectionContract("a restored value keeps its expiry, and an expired one is refused") { scene in
      let client = try scene.connect()
      let names = scene.names()
      let now = UInt64(Date().timeIntervalSince1970) * 1_000
      try expect(
        client.replies(to: [.sample(names, 5, "7", expiry: now - 1_000)]),
        is: [.conflict(StoredValue(meta: nil, content: .absent))],
        "the answer when it is too late"
      )
      try client.replies(to: [.sample(names, 5, "7", expiry: now + 1_000_000)])
      try expect(scene.lifetime(of: names.value, isAbout: 1_000), "the value does not expire")
      try expect(client.read(names)[0].meta?.expiry, is: now + 1_000_000, "the expiry in meta")
    },

    RedisConnectionContract("a restore that expects another version conflicts and changes nothing") { scene in
      let client = try scene.connect()
      let names = scene.names()
      try client.replies(to: [.sample(names, 5, "7")])
      let stored = try client.read(names)[0]
      for (revision, text, expected) in [(4, "old", nil), (9, "new", nil), (9, "new", 4), (5, "7", 5), (5, "old", nil)]
        as [(UInt64, String, UInt64?)]
      {
        let restore = Restore.sample(names, revision, text, over: expected)
        try expect(client.replies(to: [restore]), is: [.conflict(stored)], "the answer")
      }
      try expect(client.read(names), is: [stored], "what is stored")
      // The value is gone, and its meta is still there.
      try scene.foreign("DEL", names.value)
      try expect(
        client.replies(to: [.sample(names, 5, "7", over: 5)]),
        is: [.sample(5)],
        "the answer to an evicted value"
      )
      // The meta is gone, and its value is still there.
      try scene.foreign("DEL", names.meta)
      var restore = Restore.sample(names, 5, "7")
      let unversioned = try client.read(names)[0]
      for basis in [nil, "8", ""] as [String?] {
        restore.basis = basis.map { Data($0.utf8) }
        try expect(client.replies(to: [restore]), is: [.conflict(unversioned)], "the answer to another document")
      }
      restore.basis = Data("7".utf8)
      try expect(client.replies(to: [restore]), is: [.sample(5)], "the answer to an evicted meta")
    },

    RedisConnectionContract("a restore does not replace a value that somebody wrote without a revision") { scene in
      let client = try scene.connect()
      let (text, list) = (scene.names("text"), scene.names("list"))
      try scene.foreign("SET", text.value, "by hand")
      try scene.foreign("LPUSH", list.value, "x")
      let stored = [StoredValue.Content.text("by hand"), .otherType("list")].map { StoredValue(meta: nil, content: $0) }
      let replies = try client.replies(to: [.sample(text, 5, "7"), .sample(list, 5, "7")])
      try expect(replies, is: stored.map { .conflict($0) }, "the answers")
      try expect(client.read(text, list), is: stored, "what is stored")
    },

    RedisConnectionContract("the server decides each restore of a batch by itself") { scene in
      let client = try scene.connect()
      let lost = (0..<200).map { scene.names("lost\($0)") }
      let newer = scene.names("newer")
      try client.replies(to: [.sample(newer, 9, "9")])
      let stored = try client.read(newer)[0]
      var restores = lost.map { Restore.sample($0, 5, "7") }
      restores.insert(.sample(newer, 5, "7"), at: 100)
      // Two shares that have seen different versions restore one value: the newer version stays.
      restores += [.sample(lost[0], 6, "8", over: 5), .sample(lost[0], 4, "6")]
      let replies = try client.replies(to: restores)
      for (index, reply) in replies.enumerated() where index != 100 && index < 201 {
        try expect(reply, is: .sample(5), "answer \(index)")
      }
      try expect(replies[100], is: .conflict(stored), "the answer for what is newer")
      try expect(replies[201], is: .sample(6), "the answer for the newer one of two")
      try expect(replies[202], is: .conflict(client.read(lost[0])[0]), "the answer for the older one of two")
      try expect(client.read(newer), is: [stored], "what is newer")
      let texts = try client.read(lost).map(\.content)
      try expect(texts, is: [.text("8")] + Array(repeating: .text("7"), count: 199), "what is stored")
    },

    RedisConnectionContract("a restore conflicts with the stored version if another service has already restored it") {
      scene in
      let client = try scene.connect()
      let lost = (0..<64).map { scene.names("lost\($0)") }
      let subscriber = try scene.subscribe(to: lost[40])
      let restores = lost.map { Restore.sample($0, 5, "7") }
      try client.replies(to: Array(restores.prefix(32)))
      try scene.foreign("SET", lost[1].value, "by hand")
      try scene.foreign("DEL", lost[2].value)
      try scene.foreign("LPUSH", lost[2].value, "x")
      let stored = try client.read(Array(lost.prefix(32)))
      try expect(
        stored.map(\.content),
        is: [.text("7"), .text("by hand"), .otherType("list")] + Array(repeating: .text("7"), count: 29),
        "what is stored"
      )
      let replies = try client.replies(to: restores)
      try expect(
        replies,
        is: stored.map { .conflict($0) } + Array(repeating: .sample(5), count: 32),
        "the answers"
      )
      try expect(client.read(Array(lost.prefix(32))), is: stored, "what is stored afterwards")
      try expect(subscriber.nextChange().content, is: .document(Data("7".utf8)), "the message")
    },
  ]
}

extension Restore {
  /// - Parameter text: The document; `nil` for a tombstone.
  static func sample(
    _ names: KeyNames,
    _ revision: UInt64,
    _ text: String?,
    expiry: UInt64 = 0,
    isLarge: Bool = false,
    over expected: UInt64? = nil
  ) -> Restore {
    let meta = Meta(
      revision: Revision(revision),
      parent: Revision(revision - 1),
      kind: text == nil ? .deleted : .set,
      expiry: expiry,
      writer: "lost/host/1/n"
    )
    return Restore(
      names: names,
      content: text.map { .text($0) } ?? .absent,
      meta: meta,
      isLarge: isLarge,
      expected: expected.map { sample(names, $0, "").meta }
    )
  }
}

extension CommitReply {
  static func sample(_ revision: UInt64) -> CommitReply {
    .committed(revision: Revision(revision), parent: Revision(revision - 1))
  }
}
