/// Code of the program that belongs to one owner, such as a value or a log handler, and that runs piece by piece.
package protocol UserCode: Sendable {
  /// Shown by the schedule of a test's world.
  var name: String { get }
  /// Whether it notifies observers. Nothing else waits for these, however many of them block.
  var notifiesObservers: Bool { get }
  /// Runs a piece of it.
  ///
  /// - Returns: Whether there is more to do.
  func run() -> Bool
  /// A piece of it has kept a thread for longer than most code takes. Called once for each piece.
  func isSlow()
  /// A piece of it has kept a thread for a second. Called once for each piece.
  func isBlocked()
}

/// The observers of one box.
struct BoxObservers: UserCode {
  /// Weak, because a box that is no longer held has no observers.
  private(set) weak var box: Box?

  var name: String { "observers of \(box?.name ?? "")" }
  var notifiesObservers: Bool { true }

  func run() -> Bool { box?.performDeliveries() ?? false }

  func isSlow() {}

  func isBlocked() { box?.note(.observer) }
}

extension BlockedCode {
  /// Writes the warning to standard error, for values that have no log.
  ///
  /// - Parameter share: The name of its share.
  func warn(of share: String) {
    let text =
      switch self {
      case .observer:
        "An observer of '\(share)' has blocked for a second. The other observers of this value wait for it."
      case .closure:
        "A closure of 'withLock' of '\(share)' has run for a second. Changes from elsewhere, saves and reads wait for it."
      }
    write(warning: text)
  }
}
