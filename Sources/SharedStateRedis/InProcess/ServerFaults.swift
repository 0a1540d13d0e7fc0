import Foundation

/// The faults that a test has requested from the in-process server.
package struct ServerFaults: Sendable {
  package enum CommitCut: Equatable, Sendable {
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
  /// Whether every commit is answered with a conflict.
  package var turnsCommitsDown = false
  package var refusesTracking = false
  /// The text that a key, or a channel, must contain for a client to have access to it; `nil`: any name is permitted.
  package var permittedKeys: String?
  package var permittedChannels: String?
  /// Whether the server has become a replica.
  package var isReplica = false
  /// How many replicas have what is written; `nil`: as many as a client asks for.
  package var replicas: Int?
  /// Whether the server refuses INFO.
  package var refusesInfo = false
  package var isPaused = false
  /// Where the next commit's connection breaks.
  package var commitCut: CommitCut?
  /// Whether replies do not reach the clients that have sent requests.
  package var holdsReplies = false
  package var holdsMessages = false
  package var heldMessages: [HeldMessage] = []
  /// How many of the next messages are lost.
  package var drops = 0
  /// How many of the next messages, after the lost ones, arrive twice.
  package var duplicates = 0

  /// Whether the server's output is withheld from a client.
  func withholdsOutput(of client: ServerClient) -> Bool {
    client.failure == nil && (isPaused || holdsReplies && client.purpose == .writer)
  }

  /// A client that may access any value of a namespace may access its secret.
  func permits(key: String) -> Bool { permittedKeys.map { key.contains($0) || key.hasSuffix(":{}") } ?? true }

  package func permits(channel: String) -> Bool { permittedChannels.map(channel.contains) ?? true }

  /// The number of times that the next message arrives.
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
