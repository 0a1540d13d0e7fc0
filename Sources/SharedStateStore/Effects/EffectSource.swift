import SharedStateDependencies

/// Something that calls back, such as a publisher.
struct EffectSource<Action: Sendable>: Sendable {
  /// Those in force where the effect was made; `nil` when they are the defaults of the process.
  let dependencies: DependencyValues?
  let subscribe: @Sendable (_ send: Send<Action>, _ end: @escaping @Sendable () -> Void) -> @Sendable () -> Void

  func map<Other: Sendable>(_ transform: @escaping @Sendable (Action) -> Other) -> EffectSource<Other> {
    EffectSource<Other>(dependencies: dependencies) { [subscribe] send, end in
      subscribe(send.pullback(transform), end)
    }
  }

  /// Subscribes, with the dependencies in force.
  func start(_ send: Send<Action>, _ end: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
    guard let dependencies else { return subscribe(send, end) }
    return DependencyValues.withInForce(dependencies) { subscribe(send, end) }
  }
}

extension Effect {
  /// Sends whenever something outside calls back, until that says it has ended or the effect is cancelled.
  ///
  /// - Parameter subscribe: Gets the function that sends, and one that says that nothing more comes; returns what ends
  ///   the subscription. Called with no lock held.
  package static func subscription(
    _ subscribe:
      @escaping @Sendable (
        _ send: Send<Action>,
        _ end: @escaping @Sendable () -> Void
      ) -> @Sendable () -> Void
  ) -> Self {
    Self(.subscribe(EffectSource(dependencies: .kept, subscribe: subscribe)))
  }
}
