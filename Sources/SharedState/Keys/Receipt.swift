import Synchronization

/// Learns whether a value that a key passes on is shown, so that no save replaces a value that nobody has seen.
final class Receipt: Sendable {
  /// Called when the value is about to be shown, with the number of values from elsewhere that the box has shown then.
  /// Returns whether it may be: the key may have saved a newer one meanwhile.
  typealias OnShown = @Sendable (_ shown: UInt64) -> Bool

  /// How many values from elsewhere a box had shown when it took the value that is being saved.
  @TaskLocal static var shownBeforeSave: UInt64?
  @TaskLocal private static var current: Receipt?

  private let isTaken = Atomic(false)
  private let onShown: OnShown

  private init(_ onShown: @escaping OnShown) {
    self.onShown = onShown
  }

  /// Passes a value on. If it reaches no box in this call, it counts as shown: a key that is built on another one may
  /// pass it on later.
  static func passing(onShown: @escaping OnShown, _ pass: () -> Void) {
    let receipt = Receipt(onShown)
    $current.withValue(receipt, operation: pass)
    if !receipt.isTaken.load(ordering: .acquiring) { receipt.sign(shown: 0) }
  }

  /// The receipt of the value that is being passed on, for the box that it has reached; `nil` if the key wants none.
  static func take() -> Receipt? {
    current?.isTaken.store(true, ordering: .releasing)
    return current
  }

  /// The box shows the value, or has shown an equal one. May be called with the box's lock held.
  ///
  /// - Returns: Whether it may be shown.
  @discardableResult
  func sign(shown: UInt64) -> Bool { onShown(shown) }
}
