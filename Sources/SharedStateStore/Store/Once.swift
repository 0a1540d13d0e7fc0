import Synchronization

/// Something that one thread gets to do, whichever comes first.
final class Once: Sendable {
  private let isTaken = Atomic(false)

  /// Whether the caller is the one.
  func take() -> Bool { !isTaken.exchange(true, ordering: .relaxed) }
}
