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

  /// Waits until all of them have ended. When the task that waits is cancelled, so are they.
  public func finish() async {
    await node?.finish()
  }

  /// Cancels all of them. Nothing that they send afterwards is reduced.
  public func cancel() {
    node?.cancel()
  }

  /// Whether they were cancelled.
  public var isCancelled: Bool { node?.isCancelled ?? false }
}

/// Something that one thread gets to do, whichever comes first.
final class Once: Sendable {
  private let isTaken = Atomic(false)

  /// Whether the caller is the one.
  func take() -> Bool { !isTaken.exchange(true, ordering: .relaxed) }
}
