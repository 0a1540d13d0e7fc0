/// Sends commands and receives replies over one transport. It knows no commands, and does not match replies with them.
package final class RedisStream {
  /// Takes one reply, which is valid until it returns.
  package typealias Handler = (RedisReplyView) throws(RedisSharedStateError) -> Void

  /// Carries the bytes; closed when the stream is released.
  package let transport: any Transport
  /// Holds the commands that ``flush()`` sends.
  package let formatter = RedisFormatter()
  private let parser = RedisParser()
  private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 16)
  /// How many bytes have arrived in total.
  package private(set) var receivedBytes = 0
  /// Whether the last read filled the buffer, so that there is probably more.
  private var expectsMore = false

  /// The size of the pieces that are fed to hiredis, which moves the rest of a piece after every kilobyte that it
  /// parses.
  private static let pieceBytes = 16_384

  /// The upper bound of the next reply. Set it between two replies.
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

  /// Sends as much as the transport accepts, without waiting. ``receive(until:waker:_:)`` sends the rest.
  /// - Throws: ``RedisSharedStateError/Code/disconnected``.
  package func flush() throws(RedisSharedStateError) {
    while !formatter.isEmpty {
      let written = try transport.write(formatter.bytes)
      guard written > 0 else { return }
      formatter.removeFirst(written)
    }
  }

  /// Waits until something arrives, the waker is woken, or the deadline has passed; handles the replies that have
  /// arrived, and returns what ended the wait. Empty: the deadline.
  ///
  /// Unsent commands are sent as soon as the transport accepts them, even while replies are read, so that neither side
  /// waits for ever for the other to read. The handler may add commands. The method returns after each piece that
  /// arrives, so that a caller that waits for more can check the clock in between.
  /// - Throws: ``RedisSharedStateError/Code/disconnected``, ``RedisSharedStateError/Code/protocolViolation``.
  package func receive(
    until deadline: Instant,
    waker: Waker?,
    _ handle: Handler
  ) throws(RedisSharedStateError) -> Readiness {
    // More data is probably there. Checking the waker takes no system call.
    if expectsMore, !(waker?.isWoken ?? false), try read(handle) > 0 {
      try flush()
      return .readable
    }
    let wanted: Readiness = formatter.isEmpty ? .readable : [.readable, .writable]
    let readiness = try transport.wait(for: wanted, waker: waker, until: deadline)
    // Reading comes first, so that the last words of a server before it closes the connection are handled.
    if readiness.contains(.readable) { try read(handle) }
    guard !readiness.isEmpty else { return readiness }
    do throws(RedisSharedStateError) {
      try flush()
    } catch {
      // They may also have arrived since, and say more than that the connection is closed.
      try read(handle)
      throw error
    }
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
