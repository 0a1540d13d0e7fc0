import Foundation

/// The secrets of the link's namespace, as far as they are known.
struct Secrets: Sendable {
  /// How often the stored secret is read again, at most.
  static let pause = Duration.seconds(5)

  /// The stored secret, or a candidate to be stored. It is sent with each commit, in case there is none.
  private(set) var newest: Secret
  /// The one before. Two services may each have made one at the same moment, and a server may lose one that others know.
  private var earlier: Secret?
  private var isWanted = false
  /// When it may be read again.
  private var askAt: Instant?

  init(candidate: Secret) {
    newest = candidate
  }

  /// When to read the stored secret; `nil`: no message has failed to prove itself.
  var next: Instant? { isWanted ? askAt : nil }

  /// A connection is open. Its server may have another secret.
  mutating func connect(now: Instant) { (isWanted, askAt) = (true, now) }

  /// The connection is gone.
  mutating func disconnect() { (isWanted, askAt) = (false, nil) }

  /// A message has proven nothing: the stored secret may be another one.
  mutating func doubt(now: Instant) {
    isWanted = true
    askAt = askAt ?? now
  }

  /// Takes the question for the stored secret; `false` if it is not due.
  mutating func takeQuestion(now: Instant) -> Bool {
    guard isWanted, let at = askAt, at <= now else { return false }
    (isWanted, askAt) = (false, now + Self.pause)
    return true
  }

  /// The server has this secret.
  mutating func learn(_ stored: Secret) {
    if stored != newest { (newest, earlier) = (stored, newest) }
  }

  /// Whether a message on a channel was made by the scripts.
  func prove(_ payload: Data, on channel: String) -> Bool {
    ChangeMessage.isProven(payload, on: channel, by: earlier.map { [newest, $0] } ?? [newest])
  }
}
