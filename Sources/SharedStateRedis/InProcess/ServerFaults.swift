import Foundation

/// What a test has asked the in-process server to do wrong.
package struct ServerFaults: Sendable {
  package enum CommitCut: Hashable, Sendable {
    case beforeEffect
    case afterEffect
  }

  /// A message on hold, and the connections that were subscribed when it was published.
  package struct HeldMessage: Sendable {
    package var message: InProcessRedis.Message
    var recipients: [Int]
  }

  package var connectionError: RedisSharedStateError?
  package var writeError: RedisSharedStateError?
  /// Whether no commit is ever based on what is stored.
  package var turnsCommitsDown = false
  package var refusesTracking = false
  /// What every key, and every channel, has to contain, so that a client may do something with it; `nil`: nothing.
  package var permittedKeys: String?
  package var permittedChannels: String?
  /// Whether the server has become a replica of another one.
  package var isReplica = false
  /// Whether the server does not tell about itself.
  package var refusesInfo = false
  package var isPaused = false
  /// Where the next commit's connection breaks.
  package var commitCut: CommitCut?
  package var holdsMessages = false
  package var heldMessages: [HeldMessage] = []
  /// How many of the next messages are lost.
  package var drops = 0
  /// How many of the next messages, after those that are lost, arrive twice.
  package var duplicates = 0

  func permits(key: String) -> Bool { permittedKeys.map(key.contains) ?? true }

  package func permits(channel: String) -> Bool { permittedChannels.map(channel.contains) ?? true }

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
