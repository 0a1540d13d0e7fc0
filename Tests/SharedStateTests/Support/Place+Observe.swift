@testable import SharedState

extension Place {
  /// Calls `body` with the present value, then with every change, until the observation is released.
  func observe(_ body: @escaping (Value) -> Void) -> ValueObservation {
    observe(onMainThread: false, after: nil) { value, _ in
      body(value)
    } onSwap: {
    }
  }
}
