import Dispatch

/// Where the handlers of observers run when the change came from elsewhere: one after the other, on a thread that
/// nobody else needs.
enum DeliveryQueue {
  private static let queue = DispatchQueue(label: "SharedState.Delivery")

  static func run(_ deliver: @escaping @Sendable () -> Void) {
    queue.async(execute: deliver)
  }
}
