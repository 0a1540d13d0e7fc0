/// One who is told of each state of a core.
package final class StateObserver<State: Sendable>: Sendable {
  /// Takes a state with the lock of the core held, so it calls nobody; returns what is to be called without it.
  ///
  /// `isTouched` says that a share in the state has changed, which no comparison of states tells.
  let note: @Sendable (_ state: State, _ isTouched: Bool) -> (@Sendable () -> Void)?

  package init(_ note: @escaping @Sendable (_ state: State, _ isTouched: Bool) -> (@Sendable () -> Void)?) {
    self.note = note
  }
}

/// Calls a closure when it is released.
final class Cancellation: Sendable {
  private let cancel: @Sendable () -> Void

  init(_ cancel: @escaping @Sendable () -> Void) {
    self.cancel = cancel
  }

  deinit { cancel() }
}
