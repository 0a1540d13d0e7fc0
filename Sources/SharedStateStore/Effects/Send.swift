/// Sends an action from an effect.
public struct Send<Action: Sendable>: Sendable {
  private let deliver: @Sendable (Action) -> Void

  /// A function that hands actions to a closure, which is called on any thread: for tests of what sends.
  public init(_ deliver: @escaping @Sendable (Action) -> Void) {
    self.deliver = deliver
  }

  /// Sends an action, which is reduced when this returns. Does nothing once the effect is cancelled.
  public func callAsFunction(_ action: Action) async {
    guard !Task.isCancelled else { return }
    deliver(action)
  }

  /// Sends an action from a callback. Does nothing once the effect is cancelled.
  package func now(_ action: Action) {
    // The task that calls back is somebody else's: whether it is cancelled says nothing about the effect.
    deliver(action)
  }

  func pullback<Other: Sendable>(_ transform: @escaping @Sendable (Other) -> Action) -> Send<Other> {
    Send<Other> { [deliver] in deliver(transform($0)) }
  }
}
