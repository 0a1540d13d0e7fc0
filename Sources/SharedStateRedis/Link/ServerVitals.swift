import SharedState
import SharedStateDependencies

/// The vitals of the server and the reading of its clock, as far as they are known on the present connection.
struct ServerVitals: Sendable {
  typealias ReplicaID = LinkState.ReplicaID

  /// How long reported vitals count as new.
  static let interval = Duration.seconds(1)

  /// The vitals as reported last.
  private(set) var latest: Vitals
  /// The server's vitals when it sent the messages that arrive now, or earlier ones. Messages arrive on another
  /// connection, and may have been under way for longer.
  private(set) var announced: Vitals
  /// The value of `announced` as soon as the subscriber's PING is answered.
  private var hearing: Vitals?
  /// When to ask again, if there is anything to do; `nil` if the server does not reveal its vitals.
  private(set) var askAt: Instant?
  /// The replicas that have found a value missing, and need the present vitals.
  private(set) var asking: [ReplicaID] = []
  /// A reading of the server's clock, in microseconds since 1970, and when it was taken; `nil` if it is not known.
  private var clock: (server: UInt64, at: Instant)?

  /// Begins with the vitals of a new connection, which were reported before any channel was subscribed to.
  init(_ vitals: Vitals, clock: UInt64?, now: Instant) {
    (latest, announced) = (vitals, vitals)
    askAt = vitals.evictions == nil ? nil : now + Self.interval
    self.clock = clock.map { ($0, now) }
  }

  /// The server's clock, in microseconds since 1970; `nil` if it is not known.
  func serverClock(at now: Instant) -> UInt64? {
    clock.map { $0.server &+ UInt64(clamping: (now - $0.at).wholeMicroseconds) }
  }

  /// Whether the writer's connection knows newer vitals than the messages are known to follow.
  var isHearingBehind: Bool { announced != latest && hearing != latest }

  /// A PING is sent on the subscriber. Returns the vitals that its answer confirms for the messages.
  mutating func hear() -> Vitals {
    hearing = latest
    return latest
  }

  /// The subscriber's PING was answered, so every message that the server had sent before it has arrived.
  mutating func heard(_ vitals: Vitals) {
    if hearing == vitals { hearing = nil }
    if latest.continues(vitals) { announced = vitals }
  }

  /// A replica needs the present vitals.
  mutating func ask(for id: ReplicaID) { asking.append(id) }

  /// Takes the replicas to ask for; `nil` if it is not time to ask.
  ///
  /// - Parameter isActive: Whether there are other requests to send.
  mutating func takeQuestion(isActive: Bool, now: Instant) -> [ReplicaID]? {
    guard !asking.isEmpty || isActive && askAt.map({ $0 <= now }) ?? false else { return nil }
    askAt = now + Self.interval
    defer { asking = [] }
    return asking
  }

  /// The server has reported its vitals, of the same history.
  mutating func note(_ vitals: Vitals) { latest = vitals }

  /// The server does not reveal its vitals.
  mutating func refuse() { (askAt, latest.evictions) = (nil, nil) }
}
