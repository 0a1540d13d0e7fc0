import Foundation
@testable import SharedStateRedis

extension RedisConnectionContract {
  static let readChecks = [
    RedisConnectionContract("a key that nobody wrote is absent and has no meta") { scene in
      let values = try scene.connect().read(scene.names())
      try expect(values, is: [StoredValue(meta: nil, content: .absent)], "the key")
    },

    RedisConnectionContract("a read returns the committed document and its meta") { scene in
      let client = try scene.connect()
      let names = scene.names()
      let first = try client.commit(names, .text(#"{"a":1}"#))
      let second = try client.commit(names, .text(#"{"a":2}"#))
      try expect(first.parent, is: .none, "the parent of the first commit")
      let meta = Meta(revision: second.revision, parent: first.revision, kind: .set, writer: client.writer)
      try expect(client.read(names), is: [StoredValue(meta: meta, content: .text(#"{"a":2}"#))], "the key")
      try expect(scene.foreign("GET", names.value), is: #"{"a":2}"#, "what redis-cli reads")
      try expect(scene.foreign("GET", names.meta), is: meta.string, "the meta that redis-cli reads")
    },

    RedisConnectionContract("a read returns documents of any bytes, and empty ones, unchanged") { scene in
      let client = try scene.connect()
      let every = Data((0...255).map { UInt8($0) } + Array("\r\n$-1\r\n*0\r\n".utf8))
      for document in [every, Data(), Data([0])] {
        for isLarge in [false, true] {
          try client.commit(scene.names(), .document(document, isLarge: isLarge))
          try expect(client.read(scene.names()).map(\.content), is: [.document(document)], "the document")
        }
      }
    },

    RedisConnectionContract("a read returns many keys in the order of the request") { scene in
      let client = try scene.connect()
      let names = (0..<300).map { scene.names("key\($0)") }
      // Every third key is absent.
      let written = names.enumerated().filter { $0.offset % 3 > 0 }
      _ = try client.request(written.map { .commit(client.makeCommit($1, .text("\($0)"))) })
      let expected = names.indices.map { $0 % 3 > 0 ? StoredValue.Content.text("\($0)") : .absent }
      try expect(client.read(names).map(\.content), is: expected, "the keys")
      try expect(client.read(names.reversed()).map(\.content), is: expected.reversed(), "the keys in reverse")
      try expect(
        client.read([names[1], names[1]]).map(\.content),
        is: [.text("1"), .text("1")],
        "a key asked for twice"
      )
    },

    RedisConnectionContract("a value that somebody else set has no meta") { scene in
      let names = scene.names()
      try scene.foreign("SET", names.value, "foreign")
      try expect(scene.connect().read(names), is: [StoredValue(meta: nil, content: .text("foreign"))], "the key")
    },

    RedisConnectionContract("a read names the type of a key that is no string, between keys that are") { scene in
      let client = try scene.connect()
      let (list, string) = (scene.names("list"), scene.names("string"))
      try scene.foreign("LPUSH", list.value, "x")
      try client.commit(string, .text("1"))
      let contents = try client.read(string, list, scene.names(), string).map(\.content)
      try expect(contents, is: [.text("1"), .otherType("list"), .absent, .text("1")], "the keys")
    },

    RedisConnectionContract("a summary tells meta and listeners, and the length of a key that is a string") { scene in
      let client = try scene.connect()
      let (first, second, foreign) = (scene.names("first"), scene.names("second"), scene.names("foreign"))
      let (list, empty) = (scene.names("list"), scene.names("empty"))
      let made = try client.commit(first, .text("123"))
      try client.commit(second, .text("2"))
      try client.commit(second, .deleted)
      try client.commit(empty, .document(Data(), isLarge: false))
      try scene.foreign("LPUSH", list.value, "x")
      try scene.foreign("SET", foreign.value, "12")
      let listener = try scene.connect(.subscriber)
      try listener.subscribe([first.channel, empty.channel])
      let summaries = try client.summarize(first, foreign, second, list, empty, scene.names(), listeners: true)
      let meta = Meta(revision: made.revision, parent: .none, kind: .set, writer: client.writer)
      try expect(summaries[0].meta, is: meta, "the meta of the first")
      try expect(summaries[1].meta, is: nil, "the meta of what was never committed")
      try expect(summaries[2].meta?.kind, is: .deleted, "the kind of the tombstone")
      try expect(summaries.map(\.length), is: [3, 2, 0, nil, 0, 0], "the lengths")
      try expect(summaries.map(\.listeners), is: [1, 0, 0, 0, 1, 0], "how many listen")
      let unasked = try client.summarize(first, list)
      try expect(unasked.map(\.length), is: [3, nil], "the lengths if nobody asks who listens")
      try expect(unasked.map(\.listeners), is: [nil, nil], "how many listen if nobody asks")
      try expect(client.summarize(), is: [], "the answer to nothing")
    },

    RedisConnectionContract("a conflict tells the length of a large document, also one with a restore") { scene in
      let client = try scene.connect()
      let names = scene.names()
      let largest = CommitScript.largestDocumentInConflict
      for (length, isReported) in [(largest, true), (largest + 1, false)] {
        let document = Data(repeating: 49, count: length)
        let made = try client.commit(names, .large(document))
        let content = isReported ? StoredValue.Content.document(document) : .oversized(length)
        let stored = try StoredValue(meta: client.read(names)[0].meta, content: content)
        let commit = client.makeCommit(names, .text("1"), when: .revision(Revision(made.revision.rawValue - 1)))
        try expectConflict(client.request(.commit(commit))[0], stored, "the conflict with \(length) bytes")
        let old = Meta(revision: Revision(7), parent: Revision(6), kind: .set, writer: client.writer)
        let restore = Restore(names: names, content: .text("1"), meta: old, isLarge: false)
        try expectConflict(client.request(.restore(restore))[0], stored, "the restore over \(length) bytes")
      }
    },

    RedisConnectionContract("a meta that begins with a revision has it, whatever follows") { scene in
      let client = try scene.connect()
      let names = scene.names()
      for meta in ["1 0 q 0 w", "1 0 s 0 ", "1 nonsense"] {
        try client.commit(names, .text("1"))
        try scene.foreign("SET", names.meta, meta)
        try expect(client.read(names)[0].revision, is: Revision(1), "the revision of '\(meta)'")
        let next = try client.commit(names, .text("2"), when: .revision(Revision(1)))
        try expect(next.parent, is: Revision(1), "the parent after '\(meta)'")
      }
    },

    RedisConnectionContract("a malformed meta, or one of another type, counts as none") { scene in
      let client = try scene.connect()
      let names = scene.names()
      for meta in [
        "", "nonsense", "x 0 s 0 w", "1",
      ] {
        try client.commit(names, .text("1"))
        try scene.foreign("SET", names.meta, meta)
        try expect(client.read(names), is: [StoredValue(meta: nil, content: .text("1"))], "the key with '\(meta)'")
        try expect(client.replaceUnversioned(names, "1", by: "2").parent, is: .none, "the parent after '\(meta)'")
      }
      try scene.foreign("DEL", names.meta)
      try scene.foreign("LPUSH", names.meta, "1 0 s 0 w")
      try expect(client.read(names), is: [StoredValue(meta: nil, content: .text("2"))], "the key with a list")
      try expect(client.replaceUnversioned(names, "2", by: "2").parent, is: .none, "the parent after a list")
    },
  ]

  private static func expectConflict(_ reply: RedisReply, _ stored: StoredValue, _ what: String) throws {
    guard case .commit(.conflict(stored, _)) = reply else { throw Violation("\(what) is answered otherwise") }
  }
}
