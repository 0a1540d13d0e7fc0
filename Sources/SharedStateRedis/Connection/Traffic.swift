import Synchronization

/// Counts the bytes of commands and replies on the connections of one store, until they are published.
final class Traffic: Sendable {
  private let sent = Atomic(0)
  private let received = Atomic(0)

  func noteSent(_ bytes: Int) { sent.add(bytes, ordering: .relaxed) }
  func noteReceived(_ bytes: Int) { received.add(bytes, ordering: .relaxed) }

  /// Whether there is anything to publish.
  var isEmpty: Bool { sent.load(ordering: .relaxed) == 0 && received.load(ordering: .relaxed) == 0 }

  /// Returns the bytes since the last call.
  func take() -> (sent: Int, received: Int) {
    (sent.exchange(0, ordering: .relaxed), received.exchange(0, ordering: .relaxed))
  }
}
