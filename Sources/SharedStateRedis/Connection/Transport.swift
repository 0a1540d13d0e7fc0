/// Carries the bytes of one connection, and owns its file descriptor. TLS is to be another one of these.
///
/// It belongs to the thread that opened it. Nothing but ``wait(for:waker:until:)`` blocks.
package protocol Transport: AnyObject {
  /// Reads what is there, at the most as much as fits; 0: nothing is there yet.
  /// - Throws: ``RedisSharedStateError/disconnected(reason:)``, also when the other side has closed.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws(RedisSharedStateError) -> Int

  /// Writes as much as can be taken now; 0: nothing at present.
  /// - Throws: ``RedisSharedStateError/disconnected(reason:)``.
  func write(_ bytes: UnsafeRawBufferPointer) throws(RedisSharedStateError) -> Int

  /// Blocks until one of the wanted things is possible, the waker was woken, or the deadline has passed, and says
  /// which; empty: the deadline. The waker is cleared when it was woken.
  ///
  /// A broken connection is readable and writable, so that the next attempt tells why.
  /// - Throws: ``RedisSharedStateError/unreachable(reason:)`` and ``RedisSharedStateError/disconnected(reason:)``: the
  ///   system lacks what it takes to wait.
  func wait(
    for wanted: Readiness,
    waker: Waker?,
    until deadline: Instant
  ) throws(RedisSharedStateError) -> Readiness

  /// Closes the descriptor. Closing twice does nothing.
  func close()
}
