/// The life of one link to one server, as a pure state machine: connecting, connected, backing off, stopped.
///
/// A link has two connections, and the loss of either ends both: only subscribing and reading everything again reveals
/// what was missed, as on the first connection. Each pass has an epoch number, so that late events of an older
/// connection are ignored.
struct Session: Sendable {
  enum Phase: Equatable, Sendable {
    /// The server is not needed.
    case idle
    case connecting
    case connected
    case backingOff(until: Instant)
    case stopped
  }

  private(set) var phase = Phase.idle
  private(set) var epoch: UInt64 = 0
  /// How many attempts in a row have failed.
  private(set) var failures = 0
  private(set) var lastError: RedisSharedStateError?
  /// Whether the last attempt was refused. The next one will be refused as well, unless a person changes something.
  private var isRefused = false
  /// How many attempts in a row have ended because the server is not a primary. Such a server answers everything but
  /// commits.
  private var demotions = 0
  /// How many times in a row another server has taken over before the present one has answered.
  private var moves = 0
  private let backoff: RedisConfiguration.Backoff
  /// The estimated time that the server needs until all of its clients are back.
  private var fleet = Duration.zero

  /// The estimated time that a server needs for each client that comes back.
  static let timeForEachClient = Duration.microseconds(500)
  /// So many moves in a row need no pause: a failover announces one, and a cluster may need some to find an owner.
  static let movesWithoutPause = 3
  /// How many connections a slow server is assumed to be opening at the same time.
  static let openingsAtOnce = 20

  init(backoff: RedisConfiguration.Backoff) {
    self.backoff = backoff
  }

  /// What the thread of the link does next.
  enum Instruction: Equatable, Sendable {
    case wait(until: Instant)
    case connect(epoch: UInt64)
    /// The connections of this epoch are open: exchange requests, replies and messages.
    case serve(epoch: UInt64)
    /// There is nothing to do until the server is needed.
    case exit
  }

  /// Why waiting for a connection is pointless: until a person changes something, the server refuses this service or
  /// cannot be asked at all. `nil` if there is a connection, or an attempt to make one.
  var refusal: RedisSharedStateError? {
    guard isRefused, case .backingOff = phase else { return nil }
    return lastError
  }

  /// Returns what the thread of the link does next. A thread that holds connections of another epoch closes them first.
  mutating func instruction(now: Instant) -> Instruction {
    if case .backingOff(let until) = phase, until <= now { begin() }
    switch phase {
    case .idle: return .exit
    case .connecting: return .connect(epoch: epoch)
    case .connected: return .serve(epoch: epoch)
    case .backingOff(let until): return .wait(until: until)
    case .stopped: return .exit
    }
  }

  /// The server is needed.
  mutating func start() {
    guard phase == .idle else { return }
    begin()
  }

  /// Whether the connections of this epoch are being opened.
  func isConnecting(_ epoch: UInt64) -> Bool { epoch == self.epoch && phase == .connecting }

  /// Both connections are open.
  ///
  /// - Returns: Whether they are those of the present epoch, so that every channel has to be subscribed to and every
  ///   value read.
  mutating func connected(epoch: UInt64) -> Bool {
    guard isConnecting(epoch) else { return false }
    phase = .connected
    return true
  }

  /// Learns from a new connection how many clients the server has, and how slow it is.
  mutating func noteLoad(_ facts: ServerFacts) {
    if let clients = facts.clients { fleet = Self.timeForEachClient * clients }
    if let opening = facts.opening { fleet = max(fleet, opening * Self.openingsAtOnce) }
  }

  /// The server has answered a request as expected, so the next failure counts as the first one again.
  ///
  /// Opening a connection does not count: a server that accepts connections and refuses everything else is retried with
  /// growing pauses.
  mutating func succeeded(epoch: UInt64) {
    guard epoch == self.epoch, phase == .connected else { return }
    (failures, moves) = (0, 0)
    lastError = nil
  }

  /// Another server has taken over: the failures so far were those of its predecessor.
  ///
  /// - Returns: Whether this ended a pause.
  mutating func endPause(now: Instant) -> Bool {
    guard case .backingOff = phase else { return false }
    phase = .backingOff(until: now)
    return true
  }

  /// A connection could not be opened, or broke.
  ///
  /// - Parameter random: From 0 up to, but not including, 1.
  /// - Returns: Whether this ended the present epoch.
  mutating func failed(
    epoch: UInt64,
    error: RedisSharedStateError,
    now: Instant,
    random: Double
  ) -> Bool {
    guard epoch == self.epoch else { return false }
    switch phase {
    case .idle, .backingOff, .stopped:
      return false
    case .connecting, .connected:
      demotions = error == .notPrimary ? demotions + 1 : 0
      failures = max(failures + 1, demotions)
      lastError = error
      // On an open connection the error may concern a single answer.
      isRefused = error.isPermanent && phase != .connected
      moves = error == .moved ? moves + 1 : 0
      let delay =
        moves > 0 && moves <= Self.movesWithoutPause
        ? .zero : backoff.delay(failures: failures, isPermanent: error.isPermanent, fleet: fleet, random: random)
      phase = .backingOff(until: now + delay)
      return true
    }
  }

  /// The server is not needed at the moment. Both connections are closed until it is.
  mutating func rest() {
    guard phase != .stopped else { return }
    epoch += 1
    phase = .idle
    // Past failures say nothing about the server that is connected to next time.
    (failures, demotions, moves) = (0, 0, 0)
    lastError = nil
  }

  /// The server is never needed again.
  mutating func stop() {
    phase = .stopped
  }

  private mutating func begin() {
    epoch += 1
    phase = .connecting
  }
}

extension RedisConfiguration.Backoff {
  /// The pause before the next attempt: an exponential back-off with a cap and full jitter. It starts with the time
  /// that a fleet of this size needs.
  ///
  /// The pause is a random part of the bound for the attempt, so that many services that lost the same server do not
  /// come back at the same moment. Source: "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
  /// - Parameters:
  ///   - fleet: The estimated time that the server needs for all of its clients.
  ///   - failures: How many attempts in a row have failed, at least 1.
  ///   - isPermanent: Whether a person has to change something first, so that there is no hurry.
  ///   - random: From 0 up to, but not including, 1.
  func delay(failures: Int, isPermanent: Bool, fleet: Duration = .zero, random: Double) -> Duration {
    // At least half the cap, so that a permanent error is never retried in a hurry.
    if isPermanent { return cap * (0.5 + random / 2) }
    let doublings = min(max(failures - 1, 0), 30)
    return min(cap, max(fleet, base * (1 << doublings))) * random
  }
}
