/// Commands out and replies in, over one transport. It knows no command and pairs nothing up.
package final class RedisStream {
  /// Takes one reply, which is valid until it returns.
  package typealias Handler = (RedisReplyView) throws(RedisSharedStateError) -> Void

  /// What carries the bytes; closed when the stream is released.
  package let transport: any Transport
  /// Where commands are put, for ``flush()`` to send them.
  package let formatter = RedisFormatter()
  private let parser = RedisParser()
  private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 16)
  /// How many bytes have arrived, altogether.
  package private(set) var receivedBytes = 0
  /// The last read filled the buffer, so that there is probably more.
  private var expectsMore = false

  /// What hiredis is fed at once: it moves what is left of it at every kilobyte that it has parsed.
  private static let pieceBytes = 16_384

  /// The most that the reply may be that comes next. Set it between two replies.
  package var bound: ReplyBound {
    get { parser.bound }
    set { parser.bound = newValue }
  }

  /// Takes over a transport.
  package init(transport: any Transport) {
    self.transport = transport
  }

  deinit {
    transport.close()
    buffer.deallocate()
  }

  /// Sends as much as is taken at once: it never waits. ``receive(until:waker:_:)`` sends the rest.
  /// - Throws: ``RedisSharedStateError/Code/disconnected``.
  package func flush() throws(RedisSharedStateError) {
    while !formatter.isEmpty {
      let written = try transport.write(formatter.bytes)
      guard written > 0 else { return }
      formatter.removeFirst(written)
    }
  }

  /// Waits until something arrives, the waker is woken, or the deadline has passed; handles what has arrived, and says
  /// what ended the wait. Empty: the deadline.
  ///
  /// What could not be sent yet is sent as soon as it is taken: a server that waits for us to read never waits for ever.
  /// The handler may add commands. It returns after each piece that arrives, so whoever waits for more looks at the clock
  /// in between.
  /// - Throws: ``RedisSharedStateError/Code/disconnected``, ``RedisSharedStateError/Code/protocolViolation``.
  package func receive(
    until deadline: Instant,
    waker: Waker?,
    _ handle: Handler
  ) throws(RedisSharedStateError) -> Readiness {
    // More is there, most likely. To look at the waker takes no system call.
    if expectsMore, !(waker?.isWoken ?? false), try read(handle) > 0 {
      try flush()
      return .readable
    }
    let wanted: Readiness = formatter.isEmpty ? .readable : [.readable, .writable]
    let readiness = try transport.wait(for: wanted, waker: waker, until: deadline)
    // First, so that what a server says before it hangs up is heard.
    if readiness.contains(.readable) { try read(handle) }
    if !readiness.isEmpty { try flush() }
    return readiness
  }

  @discardableResult
  private func read(_ handle: Handler) throws(RedisSharedStateError) -> Int {
    let count = try transport.read(into: buffer)
    expectsMore = count == buffer.count
    receivedBytes += count
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
