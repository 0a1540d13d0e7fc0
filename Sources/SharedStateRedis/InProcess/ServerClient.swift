import Foundation
package import SharedState

/// One connection, as the in-process server sees it.
package struct ServerClient: Sendable {
  /// What a subscriber may leave unread before it is cut: Redis's own limit.
  static let maximumSubscriberBytes = 32 << 20

  package let name: String
  package let purpose: ConnectionPurpose
  let waker: Waker
  package var channels: Set<Name> = []
  /// Who is told when keys that this client has to do with are touched.
  var tracking: Tracking?
  /// Requests that a paused server has not looked at.
  var requests: [RedisRequest] = []
  /// Why the connection is down, once it is.
  var failure: RedisSharedStateError?
  /// The client is gone, but what it sent to a paused server is still to be done.
  var isAbandoned = false

  /// As CLIENT TRACKING has it.
  struct Tracking: Sendable {
    let redirect: Int
    /// `nil`: only what was looked at, and each key once.
    let prefix: Name?
    var looked: Set<Name> = []

    /// The touched keys that are to be told of.
    mutating func take(_ touched: Set<Name>) -> [String] {
      let keys = touched.filter { key in prefix.map { key.hasPrefix($0) } ?? (looked.remove(key) != nil) }
      return keys.sorted().map(\.text)
    }
  }

  private var output: [RedisEvent] = []
  private var messageBytes = 0

  init(name: String, purpose: ConnectionPurpose, waker: Waker) {
    self.name = name
    self.purpose = purpose
    self.waker = waker
  }

  /// Whether the server still talks to it.
  var isConnected: Bool { failure == nil && !isAbandoned }

  var hasOutput: Bool { failure != nil || !output.isEmpty }

  mutating func reply(to id: UInt64, _ reply: RedisReply) {
    output.append(.reply(id: id, reply))
  }

  mutating func push(channel: String, payload: Data) {
    output.append(.message(channel: channel, payload: payload))
    messageBytes += payload.count
    if messageBytes > Self.maximumSubscriberBytes {
      output = []
      cut("it left more than \(Self.maximumSubscriberBytes) bytes of messages unread")
    }
  }

  mutating func invalidate(_ keys: [String]?) {
    output.append(.invalidated(keys))
  }

  /// Breaks the connection. What has arrived stays readable, what was not looked at is lost.
  mutating func cut(_ reason: String) {
    guard failure == nil else { return }
    failure = .disconnected(reason: reason)
    channels = []
    tracking = nil
    requests = []
  }

  /// What has arrived; the failure only once everything before it was taken.
  mutating func takeOutput() throws(RedisSharedStateError) -> [RedisEvent] {
    if output.isEmpty, let failure { throw failure }
    defer { (output, messageBytes) = ([], 0) }
    return output
  }
}
