import Synchronization

/// The reduction of a child, made when it is first needed, so that a feature may contain itself.
@usableFromInline
final class LazyReduction<State: Sendable, Action: Sendable>: Sendable {
  private let make: @Sendable () -> Reduction<State, Action>
  private let made = Mutex<Reduction<State, Action>?>(nil)

  @usableFromInline
  init(_ make: @escaping @Sendable () -> Reduction<State, Action>) {
    self.make = make
  }

  /// The reduction. Two threads that ask at the same time may both make one.
  @usableFromInline
  var value: Reduction<State, Action> {
    if let made = made.withLock({ $0 }) { return made }
    let reduction = make()
    made.withLock { $0 = reduction }
    return reduction
  }
}
