public import Synchronization

/// The reduction of a child, made when it is first needed, so that a feature may contain itself.
@usableFromInline
final class LazyReduction<State: Sendable, Action: Sendable>: @unchecked Sendable {
  // `@unchecked Sendable` and the unchecked exclusivity are right because `made` is written once, with `lock` held and
  // before `isMade` is set. After that it is only read; before that it is read only with the lock held. Taking a lock
  // for each read would take longer than most reducers.

  private let make: @Sendable () -> Reduction<State, Action>
  private let lock = Mutex<Void>(())
  @usableFromInline
  let isMade = Atomic(false)
  @usableFromInline
  @exclusivity(unchecked)
  var made: Reduction<State, Action>?

  @usableFromInline
  init(_ make: @escaping @Sendable () -> Reduction<State, Action>) {
    self.make = make
  }

  /// The reduction. Two threads that ask at the same time may both make one; both get the same one of the two.
  @inlinable
  var value: Reduction<State, Action> {
    if isMade.load(ordering: .acquiring), let made { return made }
    return makeNow()
  }

  @usableFromInline
  @inline(never)
  func makeNow() -> Reduction<State, Action> {
    let reduction = make()
    return lock.withLock { _ in
      if let made { return made }
      made = reduction
      isMade.store(true, ordering: .releasing)
      return reduction
    }
  }
}
