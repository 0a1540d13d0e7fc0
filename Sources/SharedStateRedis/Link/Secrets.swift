import Foundation

/// The secrets of the link's namespace, as far as they are known.
struct Secrets: Sendable {
  /// The stored secret, or a candidate to be stored. It is sent with each commit, in case there is none.
  private(set) var newest: Secret
  /// The one before. Two services may each have made one at the same moment, and a server may lose one that others
  /// know.
  private var earlier: Secret?
  /// Whether a server has had the newest one.
  private var isStored = false
  /// The secret that the server had when it confirmed the values; `nil`: it is not known.
  private(set) var ofValues: Secret?

  /// The secret that the server has, or had at the end of the last connection; `nil`: it has not said.
  var stored: Secret? { isStored ? newest : nil }

  init(candidate: Secret) {
    newest = candidate
  }

  /// The server has this secret.
  mutating func learn(_ stored: Secret) {
    isStored = true
    if stored != newest { (newest, earlier) = (stored, newest) }
    ofValues = ofValues ?? stored
  }

  /// Every value was read from the server that has the stored secret.
  mutating func readAllValues() { ofValues = stored }

  /// Whether a message on a channel was made by the scripts.
  func prove(_ payload: Data, on channel: String) -> Bool {
    ChangeMessage.isProven(payload, on: channel, by: earlier.map { [newest, $0] } ?? [newest])
  }
}

/// When the stored secret is read on the present connection.
struct SecretReads: Sendable {
  /// How often it is read again, at most.
  private static let pause = Duration.seconds(5)

  private var isWanted = true
  /// Whether a read of it has no answer.
  private var isAsking = false
  /// Whether none was stored.
  private var wasMissing = false
  /// When it may be read again.
  private var mayAskAt: Instant

  /// Begins with a new connection, whose server may have another secret.
  init(now: Instant) { mayAskAt = now }

  /// Whether the newest read of it on this connection has an answer.
  var isAnswered: Bool { !isWanted && !isAsking }

  /// When to read it; `nil`: no message has failed to prove itself.
  var next: Instant? { isWanted ? mayAskAt : nil }

  /// A message has proven nothing: the stored secret may be another one.
  ///
  /// - Returns: Whether it is the first one that leads to the next read.
  mutating func doubt() -> Bool {
    guard !isWanted, !isAsking else { return false }
    isWanted = true
    return true
  }

  /// Takes the question for it; `false` if it is not due.
  mutating func takeQuestion(now: Instant) -> Bool {
    guard isWanted, mayAskAt <= now else { return false }
    (isWanted, isAsking, mayAskAt) = (false, true, now + Self.pause)
    return true
  }

  /// The question is answered.
  ///
  /// - Parameter isMissing: Whether no secret is stored. The first commit in the namespace stores one, so its message
  ///   is a reason to ask again immediately, once.
  mutating func answered(isMissing: Bool = false, now: Instant) {
    isAsking = false
    if isMissing, !wasMissing { (wasMissing, mayAskAt) = (true, now) }
  }
}
