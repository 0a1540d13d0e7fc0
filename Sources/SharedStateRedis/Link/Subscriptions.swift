import DequeModule
import SharedState

/// The replicas that listen to each channel.
struct Listeners: Sendable {
  typealias ReplicaID = LinkState.ReplicaID

  private var ids: [Name: [ReplicaID]] = [:]

  /// Whether no replica listens to any channel.
  var isEmpty: Bool { ids.isEmpty }

  /// The replicas that listen to a channel, the oldest first; `nil` if there is none.
  subscript(channel: Name) -> [ReplicaID]? { ids[channel] }

  /// Adds a replica. Returns whether it is the only one of its channel.
  mutating func add(_ id: ReplicaID, to channel: Name) -> Bool {
    ids[channel, default: []].append(id)
    return ids[channel]?.count == 1
  }

  /// Removes a replica. Returns whether it was the last one of its channel.
  mutating func remove(_ id: ReplicaID, from channel: Name) -> Bool {
    ids[channel]?.removeAll { $0 == id }
    guard ids[channel]?.isEmpty ?? false else { return false }
    ids[channel] = nil
    return true
  }
}

/// The channels of the present connection: those that the server has confirmed, and the requests that wait to be sent.
struct Subscriptions: Sendable {
  /// A request to send.
  enum Request: Sendable {
    case subscribeInvalidations
    case subscribe([String])
    case unsubscribe([String])
  }

  private enum Entry: Sendable {
    case subscribeInvalidations
    case subscribe(String)
    case unsubscribe(String)
    /// In a request of its own, because the server has refused the channels together with others.
    case subscribeTogether([String])
  }

  static let channelsInOneRequest = 1_024
  /// How long the channels after a subscription wait for others: shares are often made one after the other.
  static let pause = Duration.milliseconds(10)

  private(set) var confirmed: Set<Name> = []
  private var queue = Deque<Entry>()
  /// How many subscriptions have no answer. Until then, more channels may come that the next one can include.
  private var underWay = 0
  /// When the next subscription may be sent.
  private var mayBeginAt: Instant?

  /// Whether a request waits to be sent.
  var isWaiting: Bool { queue.first != nil }

  /// When channels that wait for others are subscribed to; `nil`: none does.
  var next: Instant? { isWaiting && underWay == 0 ? mayBeginAt : nil }

  /// Whether the server has confirmed the channel.
  func isConfirmed(_ channel: Name) -> Bool { confirmed.contains(channel) }

  /// Queues the channel on which the server reports written keys.
  mutating func subscribeToInvalidations() { queue.append(.subscribeInvalidations) }

  /// Queues a channel.
  mutating func subscribe(to channel: String) { queue.append(.subscribe(channel)) }

  /// Queues channels for a request of their own, because the server has refused them together with others.
  mutating func subscribe(together channels: [String]) { queue.append(.subscribeTogether(channels)) }

  /// Queues a channel that no replica listens to any more.
  mutating func unsubscribe(from channel: Name) {
    confirmed.remove(channel)
    queue.append(.unsubscribe(channel.text))
  }

  /// The server has confirmed a channel.
  mutating func confirm(_ channel: Name) { confirmed.insert(channel) }

  /// A subscription was answered.
  mutating func answered() { underWay -= 1 }

  /// Takes the next request.
  ///
  /// - Parameters:
  ///   - listeners: The replicas of each channel.
  ///   - mayListen: Whether channels of values may be subscribed to yet.
  mutating func next(for listeners: Listeners, mayListen: Bool, now: Instant) -> Request? {
    while let first = queue.first {
      switch first {
      case .subscribeInvalidations:
        _ = queue.popFirst()
        return .subscribeInvalidations
      case .subscribe:
        let isDue = underWay == 0 && mayBeginAt.map { $0 <= now } ?? true
        guard mayListen, isDue || queue.count >= Self.channelsInOneRequest else { return nil }
        (underWay, mayBeginAt) = (underWay + 1, now + Self.pause)
        return .subscribe(
          takeChannels {
            if case .subscribe(let channel) = $0 { channel } else { nil }
          }
        )
      case .subscribeTogether(let suspects):
        guard mayListen else { return nil }
        _ = queue.popFirst()
        let channels = suspects.filter { listeners[Name($0)] != nil }
        guard !channels.isEmpty else { continue }
        underWay += 1
        return .subscribe(channels)
      case .unsubscribe:
        return .unsubscribe(
          takeChannels {
            if case .unsubscribe(let channel) = $0 { channel } else { nil }
          }
        )
      }
    }
    return nil
  }

  private mutating func takeChannels(_ channel: (Entry) -> String?) -> [String] {
    var batch: [String] = []
    while batch.count < Self.channelsInOneRequest, let next = queue.first.flatMap(channel) {
      batch.append(next)
      _ = queue.popFirst()
    }
    return batch
  }
}
