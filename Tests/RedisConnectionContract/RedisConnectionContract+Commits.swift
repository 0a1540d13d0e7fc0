import Foundation
@testable import SharedStateRedis

extension RedisConnectionContract {
  static let commitChecks = [
    RedisConnectionContract("revisions grow with every commit of any client, and metas name their parent") { scene in
      let clients = [try scene.connect(), try scene.connect()]
      var last = Revision.none
      for round in 0..<50 {
        let (revision, parent) = try clients[round % 2].commit(scene.names(), .text("\(round)"))
        try expect(parent, is: last, "the parent of commit \(round)")
        try expect(
          revision > parent,
          "commit \(round) has revision \(revision), which is not above its parent \(parent)"
        )
        last = revision
      }
    },

    RedisConnectionContract("a revision is above the floor, and so are all later ones") { scene in
      let client = try scene.connect()
      let future = Revision(UInt64(Date().timeIntervalSince1970 + 1_000_000) * 1_000_000)
      let first = try client.commit(scene.names(), .text("1"), floor: future).revision
      try expect(first, is: Revision(future.rawValue + 1), "the revision above the floor")
      let second = try client.commit(scene.names(), .text("2"))
      try expect(second.revision, is: Revision(future.rawValue + 2), "the revision above its parent")
      try expect(second.parent, is: first, "its parent")
    },

    RedisConnectionContract("a revision without a higher floor or parent is the server's time") { scene in
      let client = try scene.connect()
      let early = try client.commit(scene.names("a"), .text("1")).revision
      let late = try client.commit(scene.names("b"), .text("1"), floor: Revision(1)).revision
      try expect(late > early, "\(late) is not later than \(early)")
      let thisCentury = Revision(1_500_000_000_000_000)..<Revision(4_000_000_000_000_000)
      try expect(thisCentury.contains(early), "\(early) is no time in microseconds")
      // Runs until the first tenth of a second is tested, where the microseconds have fewer than six digits.
      for number in 0... {
        let revisions = try ["a", "b"].map { try client.commit(scene.names("\($0)\(number)"), .text("1")).revision }
        try expect(revisions[0] <= revisions[1], "\(revisions[1]) is earlier than \(revisions[0])")
        try expect(thisCentury.contains(revisions[1]), "\(revisions[1]) is no time in microseconds")
        if revisions[1].rawValue % 1_000_000 < 100_000 { break }
      }
    },

    RedisConnectionContract("revisions with a floor do not restart after every trace of a key was deleted") { scene in
      let client = try scene.connect()
      let names = scene.names()
      let future = Revision(4_000_000_000_000_000)
      let before = try client.commit(names, .text("1"), floor: future).revision
      try scene.foreign("DEL", names.value, names.meta, names.operations)
      let after = try client.commit(names, .text("2"), floor: before)
      try expect(after.revision, is: Revision(before.rawValue + 1), "the revision")
      try expect(after.parent, is: .none, "the parent")
    },

    RedisConnectionContract("a commit succeeds if it expects the stored revision, else conflicts and changes nothing") {
      scene in
      let client = try scene.connect()
      let names = scene.names()
      let first = try client.commit(names, .text("1")).revision
      let second = try client.commit(names, .text("2"), when: .revision(first)).revision
      let stored = try client.read(names)[0]
      try expect(stored.meta?.revision, is: second, "the stored revision")
      for content in [Commit.Content.text("3"), .large(Data("3".utf8)), .deleted] {
        for expected in [first, .none, Revision(second.rawValue + 1)] {
          let reply = try client.reply(to: client.makeCommit(names, content, when: .revision(expected)))
          try expect(reply, is: .conflict(stored), "the answer to a commit with \(expected)")
        }
      }
      try expect(client.read(names), is: [stored], "what is stored after the conflicts")
    },

    RedisConnectionContract("only the first create succeeds") { scene in
      let client = try scene.connect()
      let names = scene.names()
      try expect(client.commit(names, .text("1"), when: .absent).parent, is: .none, "the parent")
      let reply = try client.reply(to: client.makeCommit(names, .text("2"), when: .absent))
      try expect(reply, is: .conflict(client.read(names)[0]), "the second create")
    },

    RedisConnectionContract("a conflict on a deleted key says that the key is absent") { scene in
      let client = try scene.connect()
      let commit = client.makeCommit(scene.names(), .text("1"), when: .revision(Revision(1)))
      let absent = StoredValue(meta: nil, content: .absent)
      try expect(client.reply(to: commit), is: .conflict(absent), "the answer")
    },

    RedisConnectionContract("a foreign value without meta counts as revision none") { scene in
      let client = try scene.connect()
      let names = scene.names()
      try scene.foreign("SET", names.value, "foreign")
      let conflict = client.makeCommit(names, .text("1"), when: .revision(Revision(1)))
      let foreign = StoredValue(meta: nil, content: .text("foreign"))
      try expect(client.reply(to: conflict), is: .conflict(foreign), "the conflict")
      let unexpected = client.makeCommit(names, .text("1"), when: .absent)
      try expect(client.reply(to: unexpected), is: .conflict(foreign), "the conflict with what is not expected")
      try expect(client.replaceUnversioned(names, "foreign", by: "1").parent, is: .none, "the parent")
      try expect(client.read(names).map(\.content), is: [.text("1")], "the value")
    },

    RedisConnectionContract("a commit may expect a document beside its revision") { scene in
      let client = try scene.connect()
      let names = scene.names()
      let first = try client.commit(names, .text("1")).revision
      let stored = try client.read(names)[0]
      for document in ["2", "", "11"] {
        var commit = client.makeCommit(names, .text("3"), when: .revision(first))
        commit.basis = Data(document.utf8)
        try expect(client.reply(to: commit), is: .conflict(stored), "the answer with another document")
      }
      var commit = client.makeCommit(names, .text("3"), when: .revision(first))
      commit.basis = Data("1".utf8)
      try client.committed(commit)
      try expect(client.read(names).map(\.content), is: [.text("3")], "the value")
    },

    RedisConnectionContract("a commit stores and announces its lineage, and expects the lineage of its base") { scene in
      let client = try scene.connect()
      let names = scene.names()
      let subscriber = try scene.subscribe(to: names)
      var commit = client.makeCommit(names, .text("1"))
      let line = LineID(openedBy: commit.operation, in: Era(7))
      let lineage = Lineage.Draft(continuing: nil, era: Era(7), opening: line)
      commit.lineage = lineage
      let first = try client.committed(commit).revision
      let stored = try client.read(names)[0]
      try expect(stored.meta?.lineage, is: lineage.made(first), "what is stored")
      try expect(subscriber.nextChange().meta.lineage, is: lineage.made(first), "what is announced")
      for seen in [
        Lineage.Draft(continuing: nil, era: Era(8), opening: lineage.line).made(first), lineage.made(first).closed,
      ] {
        var next = client.makeCommit(names, .text("2"), when: .revision(first))
        next.seen = seen
        try expect(client.reply(to: next), is: .conflict(stored), "the answer with another version of this revision")
      }
      var next = client.makeCommit(names, .text("2"), when: .revision(first))
      (next.seen, next.lineage) = (
        stored.meta?.lineage, .init(continuing: stored.meta?.lineage, era: Era(9), opening: LineID(9))
      )
      let second = try client.committed(next).revision
      let made = Lineage(
        era: Era(9),
        lines: [.init(id: LineID(9), revision: second), .init(id: lineage.line, revision: first)]
      )
      try expect(client.read(names)[0].meta?.lineage, is: made, "what is stored then")
    },

    RedisConnectionContract("an adoption of a document needs one, and an adoption of a deletion needs none") { scene in
      let client = try scene.connect()
      let (there, gone) = (scene.names("there"), scene.names("gone"))
      try client.commit(there, .text("1"))
      try client.commit(gone, .text("1"))
      try scene.foreign("DEL", gone.value)
      for (names, content) in [(there, Commit.Content.adoptedDeletion), (gone, .adopted(inlineLimit: 100))] {
        let stored = try client.read(names)[0]
        let adoption = client.makeCommit(names, content, when: .revision(stored.revision))
        try expect(client.reply(to: adoption), is: .conflict(stored), "the answer")
      }
      let revision = try client.read(gone)[0].revision
      try client.committed(client.makeCommit(gone, .adoptedDeletion, when: .revision(revision)))
      try expect(client.read(gone)[0].meta?.kind, is: .deleted, "the kind")
    },

    RedisConnectionContract("an adoption sets the time to live of the key, unless the edit has an expiry of its own") {
      scene in
      let client = try scene.connect()
      for (lifetime, own, expected) in [(1_000_000, nil, 1_000), (1_000_000, "500000", 500), (0, "500000", 500)] {
        for (name, limit) in [("small", 100), ("large", 0)] {
          let names = scene.names("\(name) \(lifetime) \(own ?? "")")
          let first = try client.commit(names, .text("1")).revision
          try scene.foreign("SET", names.value, "2")
          if let own { try scene.foreign("PEXPIRE", names.value, own) }
          var adoption = client.makeCommit(names, .adopted(inlineLimit: limit), when: .revision(first))
          adoption.timeToLive = UInt64(lifetime)
          try client.committed(adoption)
          try expect(scene.lifetime(of: names.value, isAbout: expected), "the time to live of the value")
          let meta = try client.read(names)[0].meta
          try expect(meta?.kind == .set && meta?.expiry != 0, "the meta is \(String(describing: meta))")
        }
      }
      let names = scene.names("forever")
      let first = try client.commit(names, .text("1")).revision
      try scene.foreign("SET", names.value, "2")
      try client.committed(client.makeCommit(names, .adopted(inlineLimit: 100), when: .revision(first)))
      try expect(scene.foreign("PTTL", names.value), is: "-1", "the time to live without the option")
    },

    RedisConnectionContract("an unconditional commit never replaces a key of another type") { scene in
      let client = try scene.connect()
      let names = scene.names()
      try scene.foreign("LPUSH", names.value, "x")
      for content in [Commit.Content.text("1"), .large(Data("1".utf8)), .deleted] {
        try expect(client.reply(to: client.makeCommit(names, content)), is: .wrongType("list"), "the answer")
      }
      try expect(client.read(names), is: [StoredValue(meta: nil, content: .otherType("list"))], "the key")
    },

    RedisConnectionContract("a replacing commit with the stored revision replaces a key of another type") { scene in
      let client = try scene.connect()
      let names = scene.names()
      var expected = Revision.none
      for content in [Commit.Content.text("1"), .large(Data("1".utf8)), .deleted] {
        try scene.foreign("DEL", names.value)
        try scene.foreign("LPUSH", names.value, "x")
        try scene.foreign("PEXPIRE", names.value, "1000000")
        let stored = try client.read(names)[0]
        let conflict = client.makeCommit(names, content, when: .revision(Revision(expected.rawValue + 1)))
        try expect(client.reply(to: conflict), is: .conflict(stored), "the answer with another revision")
        try expect(
          client.reply(to: client.makeCommit(names, content, when: .revision(expected))),
          is: .wrongType("list"),
          "the answer without replacing"
        )
        expected = try client.commit(names, content, when: .replacing(expected)).revision
        let isDeleted = try scene.foreign("EXISTS", names.value) == "0"
        try expect(scene.foreign("PTTL", names.value), is: isDeleted ? "-2" : "-1", "the time to live of the list")
      }
    },

    RedisConnectionContract("a delete leaves a tombstone that expires, even if the key was absent") { scene in
      let client = try scene.connect()
      for (name, isThere) in [("there", true), ("absent", false)] {
        let names = scene.names(name)
        let parent = isThere ? try client.commit(names, .text("1")).revision : .none
        let deleted = try client.commit(names, .deleted)
        try expect(deleted.parent, is: parent, "the parent of the tombstone")
        let meta = Meta(revision: deleted.revision, parent: parent, kind: .deleted, writer: client.writer)
        try expect(client.read(names), is: [StoredValue(meta: meta, content: .absent)], "the key")
        try expect(scene.lifetime(of: names.meta, isAbout: CommitScript.tombstoneLifetimeInSeconds), "no tombstone")

        let again = try client.commit(names, .text("2"), when: .revision(deleted.revision))
        try expect(again.parent, is: deleted.revision, "the parent after the tombstone")
        try expect(scene.foreign("PTTL", names.meta), is: "-1", "the time to live of meta after a set")
      }
    },

    RedisConnectionContract("a commit keeps the expiry that somebody else has set") { scene in
      let client = try scene.connect()
      for (name, isLarge) in [("small", false), ("large", true)] {
        let names = scene.names(name)
        try client.commit(names, .text("1"))
        try expect(scene.foreign("PTTL", names.value), is: "-1", "the time to live without an expiry")
        try scene.foreign("PEXPIRE", names.value, "1000000")
        try client.commit(names, .document(Data("2".utf8), isLarge: isLarge))
        try expect(scene.lifetime(of: names.value, isAbout: 1_000), "the expiry of the \(name) document is lost")
        try client.commit(names, .deleted)
        try client.commit(names, .document(Data("3".utf8), isLarge: isLarge))
        try expect(scene.foreign("PTTL", names.value), is: "-1", "the time to live after a delete")
      }
    },

    RedisConnectionContract("a large document leaves no staging key behind") { scene in
      let client = try scene.connect()
      let names = scene.names()
      let document = Data(repeating: UInt8(ascii: "x"), count: 100_000)
      let committed = client.makeCommit(names, .large(document))
      let conflict = client.makeCommit(names, .large(document), when: .absent)
      let wrongType = client.makeCommit(names, .large(document))
      let revision = try client.committed(committed).revision
      try expect(client.read(names).map(\.content), is: [.document(document)], "the document")
      try expect(client.committed(committed).revision, is: revision, "the revision of the retry")
      try expect(client.reply(to: conflict), is: .conflict(client.read(names)[0]), "the conflict")
      try scene.foreign("DEL", names.value)
      try scene.foreign("LPUSH", names.value, "x")
      try expect(client.reply(to: wrongType), is: .wrongType("list"), "the wrong type")
      for commit in [committed, conflict, wrongType] {
        try expect(scene.foreign("EXISTS", names.staging(for: commit.operation)), is: "0", "the staging keys")
      }
    },
  ]
}
