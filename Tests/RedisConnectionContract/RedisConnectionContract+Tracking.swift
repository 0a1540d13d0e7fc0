import Foundation
@testable import SharedStateRedis

extension RedisConnectionContract {
  static let trackingChecks = [
    RedisConnectionContract("the server tells once of a change to a document that was read alone") { scene in
      let names = scene.names()
      let tracked = try Tracked(scene, prefix: nil)
      try tracked.client.commit(names, .text("1"))
      guard case .document(.document) = try tracked.client.request(.document(names, maximumBytes: 10))[0] else {
        throw Violation("a document is not read alone")
      }
      try expect(tracked.told(), is: [], "what is told before anything is written")
      for text in ["2", "3"] { try tracked.client.commit(names, .text(text)) }
      try expect(tracked.told(), is: [names.value], "what two commits tell")
    },

    RedisConnectionContract("the server tells once of a change to a summarized value, and of no other") { scene in
      let (looked, read) = (scene.names("looked"), scene.names("read"))
      let tracked = try Tracked(scene, prefix: nil)
      for names in [looked, read] { try tracked.client.commit(names, .text("1")) }
      _ = try tracked.client.summarize(looked)
      _ = try tracked.client.read(read)
      try expect(tracked.told(), is: [], "what is told before anything is written")
      for names in [looked, read] { try tracked.client.commit(names, .text("2")) }
      try expect(tracked.told(), is: [looked.value], "what a commit tells")
      for names in [looked, read] { try scene.foreign("SET", names.value, "3") }
      try expect(tracked.told(), is: [], "what was told already")
      _ = try tracked.client.summarize(read, looked, scene.names("absent"))
      for names in [looked, read] {
        try scene.foreign("DEL", names.value)
        try scene.foreign("DEL", names.meta)
      }
      try scene.foreign("SET", scene.names("absent").value, "1")
      let told = [looked, read, scene.names("absent")].map(\.value).sorted()
      try expect(tracked.told(), is: told, "what was looked at again, without its meta")
      _ = try tracked.client.summarize(read, listeners: true)
      guard case .existing(1) = try tracked.client.request(.trackAgain([looked, scene.names("absent")]))[0] else {
        throw Violation("the keys that exist are not counted")
      }
      for names in [looked, read] {
        try scene.foreign("SET", names.value, "4")
        try scene.foreign("SET", names.meta, "4")
      }
      try expect(tracked.told(), is: [looked, read].map(\.value), "what was watched again, without its meta")
    },

    RedisConnectionContract("of single keys the server tells in front of the message, and of all keys behind it") {
      scene in
      for prefix in [nil, scene.names("").value] {
        let names = scene.names("value")
        let tracked = try Tracked(scene, prefix: prefix)
        try tracked.subscribe(to: names)
        let writer = try scene.connect()
        _ = try tracked.client.summarize(names)
        try writer.commit(names, .text("1"))
        try expect(tracked.tellsFirst(of: names), is: prefix == nil, "whether the write is told of first")
      }
    },

    RedisConnectionContract("the server tells of every change to a key that begins with a given prefix") { scene in
      let names = [scene.names("a"), scene.names("b")]
      let tracked = try Tracked(scene, prefix: scene.names("").value)
      for text in ["1", "2"] {
        for names in names { try scene.foreign("SET", names.value, text) }
        try expect(tracked.told(), is: names.map(\.value), "what is told of \(text)")
      }
    },
  ]

  /// A connection whose keys are tracked, and the connection that receives the invalidations.
  private final class Tracked {
    let client: Client
    private let scene: Scene
    private let subscriber: Client
    /// Written after all other keys. Its invalidation shows that all earlier ones have arrived.
    private let last: KeyNames

    init(_ scene: Scene, prefix: String?) throws {
      self.scene = scene
      last = scene.names("last")
      client = try scene.connect()
      subscriber = try scene.connect(.subscriber)
      try subscriber.subscribe(["\(KeyNames.invalidationChannel)"])
      guard let number = subscriber.connection.facts.clientID else {
        throw Violation("a connection does not know its number")
      }
      guard case .tracking = try client.request(.track(redirect: number, prefix: prefix))[0] else {
        throw Violation("tracking is refused")
      }
    }

    func subscribe(to names: KeyNames) throws { try subscriber.subscribe([names.channel]) }

    /// Whether the invalidation of a value has arrived in front of the message about it. Waits for both.
    func tellsFirst(of names: KeyNames) throws -> Bool {
      try subscriber.order(of: names) == ["invalidation", "message"]
    }

    /// The keys that were invalidated since the last call, in alphabetical order.
    func told() throws -> [String] {
      _ = try client.summarize(last)
      try scene.foreign("SET", last.value, "1")
      return try subscriber.invalidations(upTo: last.value).sorted()
    }
  }
}
