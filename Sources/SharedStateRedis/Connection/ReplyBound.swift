/// The most that a reply may be, by what was asked. What exceeds it ends the connection, before it is in memory.
package struct ReplyBound: Hashable, Sendable {
  /// How many bytes it has as it is sent, altogether.
  package let bytes: Int
  /// How many elements its arrays have, altogether.
  package let elements: Int
  /// How many arrays are within one another.
  package let depth: Int

  /// Makes a bound.
  package init(bytes: Int, elements: Int = 0, depth: Int = 0) {
    (self.bytes, self.elements, self.depth) = (bytes, elements, depth)
  }

  /// A status, an error, or whatever else has no end yet: no line of a server's is longer, and one that does not end is
  /// looked through again for each piece of it that arrives.
  package static let lineBytes = 16_384
  /// The longest string that a server has unless it is told otherwise, and what stands around it.
  private static let stringBytes = 536_870_912 + 65_536
  /// What a key may have unless its options say otherwise, and what stands around it.
  private static let valueBytes = 1_048_576 + 65_536

  /// What a meta, or a channel, has unless somebody has written it by hand, and what stands around it.
  private static let metaBytes = 4_096
  /// How much more may have come between a summary and its value.
  private static let growthBytes = 4 << 20

  /// Anything that a Redis server answers unless it is told otherwise.
  package static let largest = ReplyBound(bytes: 4 * stringBytes, elements: 1 << 24, depth: 7)
  /// A word, a number or an error. Nothing else is taken from a server that has not let us in yet.
  package static let word = ReplyBound(bytes: 4_096)
  /// ROLE has an element for each replica, with three elements.
  package static let role = ReplyBound(bytes: 262_144, elements: 16_384, depth: 3)
  /// INFO has a line for each replica.
  package static let information = ReplyBound(bytes: 262_144)
  /// What comes to a subscriber: messages, of which a server keeps less than that for a slow one, and the names of keys,
  /// as many as were written together.
  package static let push = ReplyBound(bytes: 64 << 20, elements: 1 << 20, depth: 2)

  /// What is stored for some keys: any of them may have the longest string that there is, but not all of them at once.
  package static func values(of keys: Int) -> ReplyBound {
    ReplyBound(bytes: stringBytes + keys * valueBytes, elements: 2 * keys, depth: 1)
  }

  /// The same, where all their documents together are known to have had so many bytes a moment ago. They may grow.
  package static func values(of keys: Int, bytes: Int) -> ReplyBound {
    ReplyBound(bytes: 2 * bytes + growthBytes + keys * metaBytes, elements: 2 * keys, depth: 1)
  }

  /// What stands beside some values, or the channels that they have.
  package static func metas(of keys: Int) -> ReplyBound {
    ReplyBound(bytes: growthBytes + keys * metaBytes, elements: 2 * keys, depth: 1)
  }

  /// What a script answers to some commits, each with a few elements, which may be what is stored instead.
  package static func commits(_ count: Int) -> ReplyBound {
    ReplyBound(bytes: stringBytes + count * valueBytes, elements: 8 * count, depth: 2)
  }
}
