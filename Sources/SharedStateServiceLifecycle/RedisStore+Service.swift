public import ServiceLifecycle
public import SharedStateRedis

/// A store is a service of swift-service-lifecycle: a `ServiceGroup` that shuts down gracefully ends it, so that no
/// change is lost. By default, a group is cancelled instead when one of its services returns or throws: choose
/// `.gracefullyShutdownGroup` for each of the others.
///
/// A group ends its services in reverse order. Name the store before everything that uses it, so that it delivers what
/// the others have changed until their end.
extension RedisStore: Service {
  /// Connects, waits for the graceful shutdown, delivers what is pending, and closes the connections.
  ///
  /// A server that is unreachable, or refuses this service, does not end it: the store tries again by itself, and
  /// ``health`` says whether it has connected. The delivery takes ``RedisConfiguration/shutdownTimeout`` at most. When
  /// the task is cancelled, before or meanwhile, nothing more is delivered, and the connections are closed immediately.
  /// The log says which error the delivery had.
  ///
  /// - Throws: ``RedisSharedStateError/Code/undelivered``: so many values have a change that was not delivered.
  ///   `CancellationError`: the task was cancelled, and no change was lost.
  public func run() async throws {
    connect()
    // An error is the cancellation, which ends the delivery immediately.
    try? await gracefulShutdown()
    let undelivered = await shutdown(within: shutdownTimeout)
    guard undelivered.isEmpty else { throw RedisSharedStateError.undelivered(values: undelivered.count) }
    try Task.checkCancellation()
  }
}
