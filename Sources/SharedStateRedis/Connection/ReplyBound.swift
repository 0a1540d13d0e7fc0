/// The upper bound of a reply, depending on the request. A larger reply ends the connection before it is in memory.
package struct ReplyBound: Equatable, Sendable {
  /// The number of bytes of the whole reply, as it is sent.
  let bytes: Int
  /// The number of elements of all arrays together.
  let elements: Int
  /// How deep arrays are nested.
  let depth: Int

  /// Makes a bound.
  init(bytes: Int, elements: Int = 0, depth: Int = 0) {
    (self.bytes, self.elements, self.depth) = (bytes, elements, depth)
  }

  /// The longest line, such as a status or an error. No server sends a longer one, and an incomplete line is searched
  /// again for each piece of it that arrives.
  static let lineBytes = 16_384
  /// The longest string that a server allows by default, with its framing.
  private static let stringBytes = 536_870_912 + 65_536
  /// The largest value that a key's options allow by default, with its framing.
  private static let valueBytes = DocumentLimit.standard + 65_536

  /// The size of a meta, or a channel, with its framing, unless it was written by hand.
  private static let metaBytes = 4_096
  /// How much a value may have grown between its summary and the read.
  private static let growthBytes = 4 << 20

  /// Any reply of a Redis server with default settings.
  package static let largest = ReplyBound(bytes: 4 * stringBytes, elements: 1 << 24, depth: 7)
  /// A word, a number or an error. Before authentication, a server may send nothing else.
  package static let word = ReplyBound(bytes: 4_096)
  /// ROLE has an element for each replica, with three elements.
  static let role = ReplyBound(bytes: 262_144, elements: 16_384, depth: 3)
  /// ACL GETUSER has all rules of one user.
  static let user = ReplyBound(bytes: 4 << 20, elements: 65_536, depth: 3)
  /// A host and a port.
  static let address = ReplyBound(bytes: 4_096, elements: 2, depth: 1)
  /// WAITAOF has two numbers.
  static let acknowledgements = ReplyBound(bytes: 4_096, elements: 2, depth: 1)
  /// SENTINEL MASTER has some fifty words.
  static let instance = ReplyBound(bytes: 65_536, elements: 1_024, depth: 1)
  /// SENTINEL REPLICAS has as many for each replica.
  static let instances = ReplyBound(bytes: 4 << 20, elements: 65_536, depth: 2)
  /// CLUSTER SLOTS has an element for each range of slots, which names the nodes that have it.
  static let slots = ReplyBound(bytes: 64 << 20, elements: 1 << 20, depth: 5)
  /// INFO has a line for each replica.
  static let information = ReplyBound(bytes: 262_144)
  /// Data that is pushed to a subscriber: messages, of which a server keeps less than this for a slow client, and the
  /// names of keys that were written together.
  static let push = ReplyBound(bytes: 64 << 20, elements: 1 << 20, depth: 2)

  /// The stored values of some keys: each may have the longest possible string, but not all of them at once.
  static func values(of keys: Int) -> ReplyBound {
    ReplyBound(bytes: stringBytes + keys * valueBytes, elements: 2 * keys, depth: 1)
  }

  /// The stored values of some keys, whose documents together had this many bytes a moment ago. They may have grown.
  static func values(of keys: Int, bytes: Int) -> ReplyBound {
    ReplyBound(bytes: 2 * bytes + growthBytes + keys * metaBytes, elements: 2 * keys, depth: 1)
  }

  /// A part of a string, which has one byte more at the most, or a line.
  static func document(bytes: Int) -> ReplyBound {
    ReplyBound(bytes: bytes + lineBytes)
  }

  /// The metas, or the channels, of some values.
  static func metas(of keys: Int) -> ReplyBound {
    ReplyBound(bytes: growthBytes + keys * metaBytes, elements: 2 * keys, depth: 1)
  }

  /// The reply of a script to some commits: each has a few elements, which may include the stored value.
  static func commits(_ count: Int) -> ReplyBound {
    ReplyBound(bytes: stringBytes + count * valueBytes, elements: 8 * count, depth: 2)
  }
}
