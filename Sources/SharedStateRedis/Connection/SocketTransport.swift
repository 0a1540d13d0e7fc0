import Glibc

/// Carries the bytes of one connection, and owns its file descriptor.
///
/// Only ``wait(for:until:)`` blocks.
package protocol Transport: AnyObject {
  /// Becomes readable or writable with the transport; negative once closed.
  var descriptor: CInt { get }

  /// Reads the bytes that have arrived, at most as many as fit; 0: none have arrived yet.
  /// - Throws: ``RedisSharedStateError/Code/disconnected``, also when the other side has closed.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws(RedisSharedStateError) -> Int

  /// Whether ``read(into:)`` has something to return, or to throw, that the descriptor does not show.
  var holdsInput: Bool { get }

  /// Writes as much as the socket accepts now, and returns the number of written bytes; 0: none at present. The next
  /// call begins with the rest.
  /// - Throws: ``RedisSharedStateError/Code/disconnected``.
  func write(_ bytes: UnsafeRawBufferPointer) throws(RedisSharedStateError) -> Int

  /// Blocks until one of the wanted operations is possible, or the deadline has passed, and returns which; empty: the
  /// deadline.
  ///
  /// A broken connection is readable and writable, so that the next attempt reports the reason.
  /// - Throws: ``RedisSharedStateError/Code/disconnected``: the system lacks the resources to wait.
  func wait(for wanted: Readiness, until deadline: Instant) throws(RedisSharedStateError) -> Readiness

  /// The certificates that both sides have for this connection.
  var certificates: [KnownCertificate] { get }

  /// Closes the descriptor. Closing twice does nothing.
  func close()
}

extension Transport {
  /// None: nothing is encrypted.
  package var certificates: [KnownCertificate] { [] }
}

/// Opens transports to servers.
package protocol Dialer: Sendable {
  /// Opens a transport that is ready to carry bytes.
  ///
  /// Blocks no longer than until the deadline. The time of looking up a host name is added to that, because the system's
  /// resolver, which limits it, may wait for several name servers in turn.
  /// - Throws: ``RedisSharedStateError``: the server cannot be reached, or a secure transport cannot be agreed on.
  func dial(_ endpoint: RedisEndpoint, until deadline: inout Instant) throws(RedisSharedStateError) -> any Transport
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

  /// As `poll` expects it.
  var events: Int16 {
    Int16((contains(.readable) ? CInt(POLLIN) : 0) | (contains(.writable) ? CInt(POLLOUT) : 0))
  }

  /// - Parameter happened: As `poll` returns it.
  init(happened: Int16) {
    self = []
    let isBroken = CInt(happened) & CInt(POLLERR | POLLHUP | POLLNVAL) != 0
    if isBroken || CInt(happened) & CInt(POLLIN) != 0 { insert(.readable) }
    if isBroken || CInt(happened) & CInt(POLLOUT) != 0 { insert(.writable) }
  }
}

/// A connected, non-blocking socket: TCP or Unix.
final class SocketTransport: Transport {
  /// Negative once closed.
  private(set) var descriptor: CInt
  let holdsInput = false

  /// Takes over a connected, non-blocking descriptor.
  init(descriptor: CInt) {
    self.descriptor = descriptor
  }

  deinit { close() }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws(RedisSharedStateError) -> Int {
    while true {
      let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
      if count > 0 { return count }
      if count == 0 { throw .disconnected(reason: "the server closed the connection") }
      let code = errno
      if code == EAGAIN || code == EWOULDBLOCK { return 0 }
      if code != EINTR { throw .disconnected(reason: Self.text(of: code)) }
    }
  }

  func write(_ bytes: UnsafeRawBufferPointer) throws(RedisSharedStateError) -> Int {
    while true {
      // Without the flag, writing to a closed connection kills the process.
      let count = send(descriptor, bytes.baseAddress, bytes.count, CInt(MSG_NOSIGNAL))
      if count >= 0 { return count }
      let code = errno
      if code == EAGAIN || code == EWOULDBLOCK { return 0 }
      if code != EINTR { throw .disconnected(reason: Self.text(of: code)) }
    }
  }

  func wait(
    for wanted: Readiness,
    until deadline: Instant
  ) throws(RedisSharedStateError) -> Readiness {
    var watched = pollfd(fd: descriptor, events: wanted.events, revents: 0)
    while poll(&watched, 1, deadline.pollTimeout()) < 0 {
      let code = errno
      guard code == EINTR else { throw .disconnected(reason: Self.text(of: code)) }
    }
    return Readiness(happened: watched.revents)
  }

  func close() {
    guard descriptor >= 0 else { return }
    _ = Glibc.close(descriptor)
    descriptor = -1
  }

  /// The system's text for an error number, with advice where a person has to act.
  static func text(of code: CInt) -> String {
    // The C library's text is a constant, or belongs to the thread.
    let text = String(cString: strerror(code))
    return switch code {
    case EMFILE: "\(text): the process has no file descriptor left. Raise `ulimit -n`, or close some"
    case ENFILE: "\(text): the system has no file descriptor left"
    default: text
    }
  }
}
