import Foundation
import SharedState

/// One connection, as the in-process server sees it.
package struct ServerClient: Sendable {
  /// How many bytes of messages a subscriber may leave unread before it is cut; Redis has the same limit.
  static let maximumSubscriberBytes = 32 << 20

  package let name: String
  package let purpose: ConnectionPurpose
  let access: RedisAccess
  let waker: Waker
  package var channels: Set<Name> = []
  /// Which connection gets the invalidations of keys that this client tracks.
  var tracking: Tracking?
  /// Requests that a paused server has not handled.
  var requests: [RedisRequest] = []
  /// Why the connection is down; `nil`: it is not.
  var failure: RedisSharedStateError?
  /// Whether the client is gone, and only its requests to a paused server remain to be carried out.
  var isAbandoned = false

  /// The settings of CLIENT TRACKING.
  struct Tracking: Sendable {
    let redirect: Int
    /// Tracks all keys with this prefix; `nil`: only the keys that were read, and each of them once.
    let prefix: Name?
    var read: Set<Name> = []

    /// The touched keys to send invalidations for.
    mutating func take(_ touched: Set<Name>) -> [String] {
      let keys = touched.filter { key in prefix.map { key.hasPrefix($0) } ?? (read.remove(key) != nil) }
      return keys.sorted().map(\.text)
    }
  }

  private var output: [RedisEvent] = []
  private var messageBytes = 0

  init(name: String, purpose: ConnectionPurpose, access: RedisAccess, waker: Waker) {
    self.access = access
    self.name = name
    self.purpose = purpose
    self.waker = waker
  }

  /// Whether the server still answers this client.
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

  /// Breaks the connection. Output that has arrived stays readable; requests that were not handled are lost.
  mutating func cut(_ reason: String) {
    guard failure == nil else { return }
    failure = .disconnected(reason: reason)
    channels = []
    tracking = nil
    requests = []
  }

  /// Returns the output so far. Throws the failure only once all output before it was taken.
  mutating func takeOutput() throws(RedisSharedStateError) -> [RedisEvent] {
    if output.isEmpty, let failure { throw failure }
    defer { (output, messageBytes) = ([], 0) }
    return output
  }
}
