import Synchronization

/// The effects of an action, and of the actions that they send.
public struct StoreTask: Sendable {
  /// `nil` when there are none.
  @usableFromInline
  package let node: EffectNode?

  @inlinable
  init(node: EffectNode?) {
    self.node = node
  }

  /// Waits until all of them have ended. When the waiting task is cancelled, the effects are cancelled, too.
  public func finish() async {
    await node?.finish()
  }

  /// Cancels all of them. Actions that they send afterwards are not reduced.
  public func cancel() {
    node?.cancel()
  }

  /// Whether they were cancelled.
  public var isCancelled: Bool { node?.isCancelled ?? false }
}

/// A job for exactly one thread, the first one to take it.
final class Once: Sendable {
  private let isTaken = Atomic(false)

  /// Whether the caller takes it.
  func take() -> Bool { !isTaken.exchange(true, ordering: .relaxed) }
}
