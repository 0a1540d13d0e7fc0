import Foundation
@testable import SharedStateRedis

extension RedisConnectionContract {
  static let baseChecks = [
    RedisConnectionContract("a commit keeps the document that it replaces, for a day, and only the first time") {
      scene in
      let client = try scene.connect()
      let names = scene.names()
      let key = names.value + ":base"
      try expectBase(client, key, nil, "before the commit")
      let document = Data(repeating: UInt8(ascii: "7"), count: 100_000)
      var revision = try client.commit(names, .large(document)).revision
      for text in ["1", "2"] {
        var commit = client.makeCommit(names, .text(text), when: .revision(revision))
        commit.base = key
        revision = try client.committed(commit).revision
        try expectBase(client, key, .document(document), "after the commit of \(text)")
      }
      try expect(scene.lifetime(of: key, isAbout: 86_400), is: true, "whether it expires after a day")
    },

    RedisConnectionContract("a commit that conflicts keeps nothing of what is stored") { scene in
      let client = try scene.connect()
      let names = scene.names()
      try client.commit(names, .text("1"))
      var commit = client.makeCommit(names, .text("2"), when: .absent)
      commit.base = names.value + ":base"
      _ = try client.reply(to: commit)
      try expectBase(client, names.value + ":base", nil, "after the conflict")
    },

    RedisConnectionContract("a commit keeps what only its service has: a document, or that there was none") { scene in
      let client = try scene.connect()
      let names = scene.names()
      let keys = ["a", "b"].map { "\(names.value):base:\($0)" }
      var commit = client.makeCommit(names, .text("1"))
      commit.kept = [KeptBase(key: keys[0], document: Data("7".utf8)), KeptBase(key: keys[1], document: nil)]
      try client.committed(commit)
      try expectBase(client, keys[0], .text("7"), "of the document")
      try expectBase(client, keys[1], .absent, "of the deletion")
      for key in keys { try expect(scene.lifetime(of: key, isAbout: 86_400), is: true, "whether \(key) expires") }
    },

    RedisConnectionContract("what is kept is not read if it is too large") { scene in
      let client = try scene.connect()
      let key = scene.names().value
      _ = try scene.foreign("SET", key, "12345")
      try expectBase(client, key, .text("12345"), "of five bytes", maximumBytes: 5)
      try expectBase(client, key, nil, "of more bytes", maximumBytes: 4)
    },

    RedisConnectionContract("a document is read alone if it is a string that is not too large") { scene in
      let client = try scene.connect()
      let names = scene.names()
      try expectDocument(client, names, nil, "of nothing")
      try client.commit(names, .text("12345"))
      try expectDocument(client, names, .text("12345"), "of five bytes")
      try client.commit(names, .text("123456"))
      try expectDocument(client, names, nil, "of more bytes")
      _ = try scene.foreign("DEL", names.value)
      _ = try scene.foreign("LPUSH", names.value, "1")
      try expectDocument(client, names, nil, "of a list")
    },
  ]

  private static func expectDocument(
    _ client: Client,
    _ names: KeyNames,
    _ content: StoredValue.Content?,
    _ what: String
  ) throws {
    guard case .document(let found) = try client.request(.document(names, maximumBytes: 5))[0] else {
      throw Violation("the question for a document is not answered with one")
    }
    try expect(found, is: content, "the document \(what)")
  }

  private static func expectBase(
    _ client: Client,
    _ key: String,
    _ content: StoredValue.Content?,
    _ what: String,
    maximumBytes: Int = 1 << 20
  ) throws {
    guard case .document(let found) = try client.request(.base(key: key, maximumBytes: maximumBytes))[0] else {
      throw Violation("the question for a base is not answered with one")
    }
    try expect(found, is: content, "the base \(what)")
  }
}
