@testable import SharedStateRedis

extension RedisConnection {
  /// Waits until something has arrived, the waker was woken, or the deadline has passed, and returns the events so far.
  /// Wake-ups are then forgotten.
  ///
  /// - Throws: The reason for the end of the connection, behind all events.
  /// - Parameter waker: The waker that the connection was opened with, if anything wakes it.
  func receive(until deadline: Instant, waker: Waker = Waker()) throws(RedisSharedStateError) -> [RedisEvent] {
    while true {
      _ = try waker.wait(for: PerConnection { $0 == .writer ? interest : nil }, until: deadline)
      let wasWoken = waker.isWoken
      // Cleared before the output is taken, so that later output wakes again.
      waker.clear()
      let arrivals = receive()
      if let failure = arrivals.failure, arrivals.events.isEmpty { throw failure }
      if !arrivals.events.isEmpty || wasWoken || .now >= deadline { return arrivals.events }
    }
  }
}
