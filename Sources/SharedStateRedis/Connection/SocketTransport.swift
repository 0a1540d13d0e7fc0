import Glibc

/// A connected, non-blocking socket: TCP or Unix.
package final class SocketTransport: Transport {
  /// Negative once closed.
  package private(set) var descriptor: CInt
  /// The socket and the waker, as `poll` wants them: side by side, and made only once.
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
      // Without the flag, writing to a server that has gone kills the process.
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

  /// The system's text for an error number, and what to do where somebody has to do something.
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
