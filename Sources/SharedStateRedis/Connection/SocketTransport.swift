import Glibc

/// Carries the bytes of one connection, and owns its file descriptor. TLS would be another conforming type.
///
/// It belongs to the thread that opened it. Only ``wait(for:waker:until:)`` blocks.
package protocol Transport: AnyObject {
  /// Reads the bytes that have arrived, at most as many as fit; 0: none have arrived yet.
  /// - Throws: ``RedisSharedStateError/Code/disconnected``, also when the other side has closed.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws(RedisSharedStateError) -> Int

  /// Writes as much as the socket accepts now; 0: nothing at present.
  /// - Throws: ``RedisSharedStateError/Code/disconnected``.
  func write(_ bytes: UnsafeRawBufferPointer) throws(RedisSharedStateError) -> Int

  /// Blocks until one of the wanted operations is possible, the waker was woken, or the deadline has passed, and
  /// returns which; empty: the deadline. A waker that was woken is cleared.
  ///
  /// A broken connection is readable and writable, so that the next attempt reports the reason.
  /// - Throws: ``RedisSharedStateError/Code/unreachable`` and ``RedisSharedStateError/Code/disconnected``: the
  ///   system lacks the resources to wait.
  func wait(
    for wanted: Readiness,
    waker: Waker?,
    until deadline: Instant
  ) throws(RedisSharedStateError) -> Readiness

  /// Closes the descriptor. Closing twice does nothing.
  func close()
}

/// The operations that a ``Transport`` is ready for.
package struct Readiness: OptionSet, Sendable {
  /// One bit for each operation.
  package let rawValue: UInt8

  /// Makes a set of its bits.
  package init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  /// Bytes, or the end of the stream, can be read.
  package static let readable = Readiness(rawValue: 1)
  /// Bytes can be written.
  static let writable = Readiness(rawValue: 2)
  /// The waker was woken.
  package static let woken = Readiness(rawValue: 4)
}

/// A connected, non-blocking socket: TCP or Unix.
package final class SocketTransport: Transport {
  /// Negative once closed.
  package private(set) var descriptor: CInt
  /// The socket and the waker, side by side as `poll` requires, and allocated only once.
  private let watched: UnsafeMutablePointer<pollfd>

  /// Takes over a connected, non-blocking descriptor.
  package init(descriptor: CInt) {
    self.descriptor = descriptor
    watched = .allocate(capacity: 2)
    watched.initialize(repeating: pollfd(), count: 2)
  }

  deinit {
    close()
    watched.deallocate()
  }

  package func read(into buffer: UnsafeMutableRawBufferPointer) throws(RedisSharedStateError) -> Int {
    while true {
      let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
      if count > 0 { return count }
      if count == 0 { throw .disconnected(reason: "the server closed the connection") }
      let code = errno
      if code == EAGAIN || code == EWOULDBLOCK { return 0 }
      if code != EINTR { throw .disconnected(reason: Self.text(of: code)) }
    }
  }

  package func write(_ bytes: UnsafeRawBufferPointer) throws(RedisSharedStateError) -> Int {
    while true {
      // Without the flag, writing to a closed connection kills the process.
      let count = send(descriptor, bytes.baseAddress, bytes.count, CInt(MSG_NOSIGNAL))
      if count >= 0 { return count }
      let code = errno
      if code == EAGAIN || code == EWOULDBLOCK { return 0 }
      if code != EINTR { throw .disconnected(reason: Self.text(of: code)) }
    }
  }

  package func wait(
    for wanted: Readiness,
    waker: Waker?,
    until deadline: Instant
  ) throws(RedisSharedStateError) -> Readiness {
    var events: CInt = 0
    if wanted.contains(.readable) { events |= POLLIN }
    if wanted.contains(.writable) { events |= POLLOUT }
    watched[0] = pollfd(fd: descriptor, events: Int16(events), revents: 0)
    // `poll` ignores a negative descriptor.
    watched[1] = pollfd(fd: try waker?.descriptor ?? -1, events: Int16(POLLIN), revents: 0)
    while true {
      let count = poll(watched, 2, deadline.pollTimeout())
      if count == 0 { return [] }
      guard count > 0 else {
        let code = errno
        guard code == EINTR else { throw .disconnected(reason: Self.text(of: code)) }
        continue
      }
      var readiness: Readiness = []
      let happened = CInt(watched[0].revents)
      let broken = happened & (POLLERR | POLLHUP | POLLNVAL) != 0
      if broken || happened & POLLIN != 0 { readiness.insert(.readable) }
      if broken || happened & POLLOUT != 0 { readiness.insert(.writable) }
      if watched[1].revents != 0, let waker {
        waker.clear()
        readiness.insert(.woken)
      }
      return readiness
    }
  }

  package func close() {
    guard descriptor >= 0 else { return }
    _ = Glibc.close(descriptor)
    descriptor = -1
  }

  /// The system's text for an error number, with advice where a person has to act.
  package static func text(of code: CInt) -> String {
    // The C library's text is a constant, or belongs to the thread.
    let text = String(cString: strerror(code))
    return switch code {
    case EMFILE: "\(text): the process has no file descriptor left. Raise `ulimit -n`, or close some"
    case ENFILE: "\(text): the system has no file descriptor left"
    default: text
    }
  }
}
