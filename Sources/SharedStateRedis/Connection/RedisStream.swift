/// Commands out and replies in, over one transport. It knows no command and pairs nothing up.
package final class RedisStream {
  /// Takes one reply, which is valid until it returns.
  package typealias Handler = (RedisReplyView) throws(RedisSharedStateError) -> Void

  /// What carries the bytes; closed when the stream is released.
  package let transport: any Transport
  /// Where commands are put, for ``flush(timeout:_:)`` to send them.
  package let formatter = RedisFormatter()
  private let parser = RedisParser()
  private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 16)
  /// The last read filled the buffer, so that there is probably more.
  private var expectsMore = false

  /// What hiredis is fed at once: it moves what is left of it at every kilobyte that it has parsed.
  private static let pieceBytes = 16_384

  /// Takes over a transport.
  package init(transport: any Transport) {
    self.transport = transport
  }

  deinit {
    transport.close()
    buffer.deallocate()
  }

  /// Sends all commands. What arrives in the meantime is handled, so that a server that waits for us to read never
  /// waits for ever; the handler may add commands.
  /// - Throws: ``RedisSharedStateError/timedOut(operation:)`` when nothing moves for so long,
  ///   ``RedisSharedStateError/disconnected(reason:)``, ``RedisSharedStateError/protocolViolation(reason:)``.
  package func flush(timeout: Duration, _ handle: Handler) throws(RedisSharedStateError) {
    while !formatter.isEmpty {
      let written = try transport.write(formatter.bytes)
      formatter.removeFirst(written)
      guard written == 0 else { continue }
      let readiness = transport.wait(for: [.readable, .writable], waker: nil, until: .now.advanced(by: timeout))
      guard !readiness.isEmpty else { throw .timedOut(operation: "sending") }
      if readiness.contains(.readable) { try read(handle) }
    }
  }

  /// Waits until something arrives, the waker is woken, or the deadline has passed; handles what has arrived, and says
  /// what ended the wait. Empty: the deadline.
  /// - Throws: ``RedisSharedStateError/disconnected(reason:)``, ``RedisSharedStateError/protocolViolation(reason:)``.
  package func receive(
    until deadline: Instant,
    waker: Waker?,
    _ handle: Handler
  ) throws(RedisSharedStateError) -> Readiness {
    if expectsMore, try read(handle) > 0 { return .readable }
    let readiness = transport.wait(for: .readable, waker: waker, until: deadline)
    if readiness.contains(.readable) { try read(handle) }
    return readiness
  }

  @discardableResult
  private func read(_ handle: Handler) throws(RedisSharedStateError) -> Int {
    let count = try transport.read(into: buffer)
    expectsMore = count == buffer.count
    var position = 0
    while position < count {
      let end = min(position + Self.pieceBytes, count)
      try parser.feed(UnsafeRawBufferPointer(rebasing: buffer[position..<end]))
      while let reply = try parser.next() { try handle(reply) }
      position = end
    }
    return count
  }
}
