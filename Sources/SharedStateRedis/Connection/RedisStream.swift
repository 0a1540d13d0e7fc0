/// Sends commands and receives replies over one transport. It knows no commands, and does not match replies with them.
final class RedisStream {
  /// Takes one reply, which is valid until it returns.
  typealias Handler = (RedisReplyView) throws(RedisSharedStateError) -> Void

  /// Carries the bytes; closed when the stream is released.
  let transport: any Transport
  /// Holds the commands that ``flush()`` sends.
  let formatter = RedisFormatter()
  private let parser = RedisParser()
  private let traffic: Traffic?
  private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 16)
  /// How many bytes have arrived in total.
  private(set) var receivedBytes = 0
  /// Whether the last read filled the buffer, so that there is probably more.
  private var expectsMore = false

  /// The size of the pieces that are fed to hiredis, which moves the rest of a piece after every kilobyte that it
  /// parses.
  private static let pieceBytes = 16_384

  /// The upper bound of the next reply. Set it between two replies.
  var bound: ReplyBound {
    get { parser.bound }
    set { parser.bound = newValue }
  }

  /// Takes over a transport, whose bytes are counted.
  init(transport: any Transport, traffic: Traffic? = nil) {
    (self.transport, self.traffic) = (transport, traffic)
  }

  deinit {
    transport.close()
    buffer.deallocate()
  }

  /// Sends as much as the transport accepts, without waiting. ``receive(_:)`` sends the rest.
  /// - Throws: ``RedisSharedStateError/Code/disconnected``.
  func flush() throws(RedisSharedStateError) {
    while !formatter.isEmpty {
      let written = try transport.write(formatter.bytes)
      guard written > 0 else { return }
      traffic?.noteSent(written)
      formatter.removeFirst(written)
    }
  }

  /// What has to happen before ``receive(_:)`` has anything to do.
  var interest: Interest {
    // After a full buffer, more has probably arrived already.
    expectsMore || transport.holdsInput ? .arrived : .socket(transport.descriptor, wanted)
  }

  private var wanted: Readiness { formatter.isEmpty ? .readable : [.readable, .writable] }

  /// Waits until something arrives or the deadline has passed, and handles the replies that have arrived. The method
  /// returns after each piece that arrives, so that the caller can check the clock in between.
  ///
  /// - Returns: Whether anything happened before the deadline.
  /// - Throws: The errors of ``receive(_:)``.
  func receive(until deadline: Instant, _ handle: Handler) throws(RedisSharedStateError) -> Bool {
    if !expectsMore, try transport.wait(for: wanted, until: deadline).isEmpty { return false }
    try receive(handle)
    return true
  }

  /// Handles the replies that have arrived, and sends the unsent commands that the transport accepts: even while
  /// replies are read, so that neither side waits forever for the other to read. The handler may add commands.
  /// - Throws: ``RedisSharedStateError/Code/disconnected``, ``RedisSharedStateError/Code/protocolViolation``.
  func receive(_ handle: Handler) throws(RedisSharedStateError) {
    // Reading comes first, so that the last reply of a server that closes the connection is handled.
    try read(handle)
    do throws(RedisSharedStateError) {
      try flush()
    } catch {
      // That reply may also have arrived since, and say more than the failed write does.
      try read(handle)
      throw error
    }
  }

  private func read(_ handle: Handler) throws(RedisSharedStateError) {
    let count = try transport.read(into: buffer)
    expectsMore = count == buffer.count
    receivedBytes += count
    if count > 0 { traffic?.noteReceived(count) }
    var position = 0
    while position < count {
      let end = min(position + Self.pieceBytes, count)
      try parser.feed(UnsafeRawBufferPointer(rebasing: buffer[position..<end]))
      while let reply = try parser.next() { try handle(reply) }
      position = end
    }
  }
}
