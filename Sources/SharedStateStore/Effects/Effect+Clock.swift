import SharedState
extension Effect {
  /// Begins the effect once no other effect with the same id was begun for some time.
  ///
  /// - Parameters:
  ///   - id: The id that cancels it, by the next effect with the id or by ``cancel(id:)``.
  ///   - duration: How long it waits.
  ///   - clock: The clock, such as the dependency `continuousClock`.
  ///   - tolerance: How much longer it may wait.
  public func debounce<ClockType: Clock>(
    id: some Hashable & Sendable,
    for duration: ClockType.Duration,
    clock: ClockType,
    tolerance: ClockType.Duration? = nil
  ) -> Self {
    debounce(id: id) { try await clock.sleep(until: clock.now.advanced(by: duration), tolerance: tolerance) }
  }

  /// Begins the effect after a sleep, unless another effect with the same id interrupts the sleep.
  package func debounce(
    id: some Hashable & Sendable,
    sleep: @escaping @Sendable () async throws -> Void
  ) -> Self {
    .concatenate(.run { _ in try await sleep() }, self).cancellable(id: id, cancelInFlight: true)
  }

  /// Lets through at most one action of the effects with the same id in some time.
  ///
  /// The first action passes immediately. Of the actions that follow within `duration`, one passes when that time is
  /// over. Each effect with the id ends the earlier ones.
  /// - Parameters:
  ///   - id: The id that cancels it, by the next effect with the id or by ``cancel(id:)``.
  ///   - duration: The least time between two actions.
  ///   - clock: The clock, such as the dependency `continuousClock`.
  ///   - latest: Whether the latest action passes, or the first action that came too soon.
  public func throttle<ClockType: Clock>(
    id: some Hashable & Sendable,
    for duration: ClockType.Duration,
    clock: ClockType,
    latest: Bool
  ) -> Self {
    throttle(
      id: id,
      latest: latest,
      now: { clock.now },
      next: { $0.advanced(by: duration) },
      sleep: { try await clock.sleep(until: $0, tolerance: nil) }
    )
  }

  /// Lets through at most one action of the effects with the same id in some time.
  ///
  /// - Parameters:
  ///   - now: The present time.
  ///   - next: The earliest time of the next action after an action at a given time.
  ///   - sleep: Waits until a time.
  package func throttle<Instant: Comparable & Sendable>(
    id: some Hashable & Sendable,
    latest: Bool,
    now: @escaping @Sendable () -> Instant,
    next: @escaping @Sendable (Instant) -> Instant,
    sleep: @escaping @Sendable (Instant) async throws -> Void
  ) -> Self {
    let id = EffectID(id)
    return Self.run { send in
      guard let context = EffectContext.current else { return }
      let gate: ThrottleGate<Action, Instant> = context.registry.throttle(id: id, path: context.path)
      let (delays, delay) = AsyncStream.makeStream(of: ThrottleGate<Action, Instant>.Delay.self)
      async let delayed: Void = {
        for await delay in delays {
          try? await sleep(delay.end)
          guard !Task.isCancelled, let action = gate.release(delay, now: now()) else { continue }
          await send(action)
        }
      }()
      await perform { action in
        switch gate.admit(action, of: context.node, now: now(), latest: latest, next) {
        case .now: send.now(action)
        case .later(let begun): delay.yield(begun)
        case .kept: break
        }
      }
      delay.finish()
      await delayed
    }
    .cancellable(id: id, cancelInFlight: true)
  }

  /// Performs the effect, in the task of the caller.
  private func perform(_ send: @escaping @Sendable (Action) -> Void) async {
    guard let operation = box?.operation, !Task.isCancelled else { return }
    switch operation {
    case .send(let action):
      send(action)
    case .run(let task):
      await task.run(Send(send)) { problem, location in
        location.report("A throttled effect \(problem)")
      }
    case .subscribe(let source):
      let (end, ending) = AsyncStream.makeStream(of: Never.self)
      let stop = source.start(Send(send)) { ending.finish() }
      for await _ in end {}
      stop()
    case .merge(let effects):
      await withTaskGroup(of: Void.self) { group in
        for effect in effects { group.addTask { await effect.perform(send) } }
      }
    case .concatenate(let effects):
      for effect in effects { await effect.perform(send) }
    case .cancellable(let effect, let id, let cancelInFlight):
      await withTaskCancellation(id: id, cancelInFlight: cancelInFlight) { await effect.perform(send) }
    case .cancel(let id):
      Task<Never, Never>.cancel(id: id)
    case .part(let effect, _), .child(let effect, _, _):
      await effect.perform(send)
    case .farewell:
      break
    }
  }

  private func cancellable(id: EffectID, cancelInFlight: Bool) -> Self {
    Self(.cancellable(self, id: id, cancelInFlight: cancelInFlight))
  }
}
