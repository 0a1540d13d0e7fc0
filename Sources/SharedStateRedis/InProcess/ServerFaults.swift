import Foundation

/// What a test has asked the in-process server to do wrong.
struct ServerFaults: Sendable {
  enum CommitCut: Hashable, Sendable {
    case beforeEffect
    case afterEffect
  }

  /// A message on hold, and the connections that were subscribed when it was published.
  struct HeldMessage: Sendable {
    var message: InProcessRedis.Message
    var recipients: [Int]
  }

  var connectionError: RedisSharedStateError?
  var writeError: RedisSharedStateError?
  /// Whether no commit is ever based on what is stored.
  var turnsCommitsDown = false
  var refusesTracking = false
  /// What every key, and every channel, has to contain, so that a client may do something with it; `nil`: nothing.
  var permittedKeys: String?
  var permittedChannels: String?
  /// Whether the server has become a replica of another one.
  var isReplica = false
  /// Whether the server does not tell about itself.
  var refusesInfo = false
  var isPaused = false
  /// Where the next commit's connection breaks.
  var commitCut: CommitCut?
  var holdsMessages = false
  var heldMessages: [HeldMessage] = []
  /// How many of the next messages are lost.
  var drops = 0
  /// How many of the next messages, after those that are lost, arrive twice.
  var duplicates = 0

  func permits(key: String) -> Bool { permittedKeys.map(key.contains) ?? true }

  func permits(channel: String) -> Bool { permittedChannels.map(channel.contains) ?? true }

  /// How often the next message arrives.
  mutating func copiesOfNextMessage() -> Int {
    if drops > 0 {
      drops -= 1
      return 0
    }
    if duplicates > 0 {
      duplicates -= 1
      return 2
    }
    return 1
  }
}
