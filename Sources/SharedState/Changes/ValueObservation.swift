/// Keeps an observation going until it is cancelled or released.
package final class ValueObservation: Sendable {
  private let subscription: SharedSubscription

  init(_ cancel: @escaping @Sendable () -> Void) {
    subscription = SharedSubscription(cancel)
  }

  /// Ends the observation. What is being told on another thread right now still comes; nothing else does.
  package func cancel() {
    subscription.cancel()
  }
}
