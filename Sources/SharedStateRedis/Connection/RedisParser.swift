internal import CHiredis

/// Parses RESP2 replies from bytes that arrive in pieces of any size, within a bound.
final class RedisParser {
  /// The upper bound of the reply that is arriving, or that comes next.
  var bound: ReplyBound {
    didSet { limitArrays() }
  }

  private let reader: UnsafeMutablePointer<redisReader>
  /// The limits that the reader checks before it makes an array. It keeps a pointer to them.
  private let limits: UnsafeMutablePointer<shared_state_reply_limits>
  /// The reply that was returned last; valid until the next one is requested.
  private var current: UnsafeMutableRawPointer?
  /// How many bytes were added since the end of the last complete reply.
  private var fedBytes = 0

  /// The reader releases a larger buffer when it is empty.
  private static let keptCapacity = 262_144
  /// The length of a string, with its line end, has no more digits than this.
  private static let lengthBytes = 24

  /// Makes a parser.
  init(bound: ReplyBound = .largest) {
    guard let reader = redisReaderCreate() else { fatalError("hiredis has no memory for a reader.") }
    reader.pointee.maxbuf = Self.keptCapacity
    self.reader = reader
    self.bound = bound
    limits = .allocate(capacity: 1)
    limits.initialize(to: shared_state_reply_limits())
    shared_state_limit(reader, limits)
    limitArrays()
  }

  deinit {
    if let current { freeReplyObject(current) }
    redisReaderFree(reader)
    limits.deallocate()
  }

  /// How many bytes wait to be parsed. A string is parsed once it has arrived as a whole.
  var bufferedBytes: Int { Int(reader.pointee.len - reader.pointee.pos) }

  /// Adds bytes. Use small pieces, each followed by ``next()`` until it is `nil`: the reader often moves the bytes that
  /// it has not parsed to the front of its buffer.
  /// - Throws: ``RedisSharedStateError/Code/protocolViolation``.
  func feed(_ bytes: UnsafeRawBufferPointer) throws(RedisSharedStateError) {
    let result = redisReaderFeed(reader, bytes.assumingMemoryBound(to: CChar.self).baseAddress, bytes.count)
    guard result == REDIS_OK else { throw violation }
    fedBytes += bytes.count
  }

  /// The next complete reply, valid until this is called again; `nil`: more bytes are needed.
  /// - Throws: ``RedisSharedStateError/Code/protocolViolation``, also for a reply that exceeds the bound.
  func next() throws(RedisSharedStateError) -> RedisReplyView? {
    if let previous = current {
      current = nil
      freeReplyObject(previous)
    }
    guard redisReaderGetReply(reader, &current) == REDIS_OK else { throw violation }
    guard let current else {
      try checkPart()
      return nil
    }
    let rest = bufferedBytes
    guard fedBytes - rest <= bound.bytes else { throw tooLong }
    fedBytes = rest
    limits.pointee.elements = bound.elements
    return RedisReplyView(current.assumingMemoryBound(to: redisReply.self))
  }

  /// Checks the size of an incomplete reply, and its announced minimum size, in constant time.
  private func checkPart() throws(RedisSharedStateError) {
    guard fedBytes <= bound.bytes else { throw tooLong }
    let buffered = bufferedBytes
    guard buffered > 0 else { return }
    if let length = announcedLength {
      guard length <= bound.bytes - (fedBytes - buffered) else { throw tooLong }
    } else if buffered > ReplyBound.lineBytes {
      throw .protocolViolation(reason: "a line has more than \(ReplyBound.lineBytes) bytes")
    }
  }

  /// The announced length of the incomplete string; `nil`: a line is incomplete, or the length has not arrived yet.
  private var announcedLength: Int? {
    // A reply that ends with its line is parsed as soon as the line is complete; a string is not. Half a line end does
    // not count: it stands within an error, or a number was split there.
    let start = UnsafeRawPointer(reader.pointee.buf.advanced(by: Int(reader.pointee.pos)))
    var scanner = ByteScanner(UnsafeRawBufferPointer(start: start, count: min(bufferedBytes, Self.lengthBytes)))
    guard let length = scanner.number(), scanner.skip("\r"), scanner.skip("\n") else { return nil }
    return Int(clamping: length)
  }

  private func limitArrays() {
    (limits.pointee.elements, limits.pointee.depth) = (bound.elements, CInt(bound.depth))
  }

  private var tooLong: RedisSharedStateError {
    .protocolViolation(reason: "a reply has more than the allowed \(bound.bytes) bytes")
  }

  /// hiredis quotes at most one byte of the input.
  private var violation: RedisSharedStateError {
    if limits.pointee.exceeds_elements != 0 {
      return .protocolViolation(reason: "a reply has more than the allowed \(bound.elements) elements")
    }
    if limits.pointee.exceeds_depth != 0 {
      return .protocolViolation(reason: "a reply has arrays that are nested more than \(bound.depth) deep")
    }
    let text = withUnsafeBytes(of: &reader.pointee.errstr) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    // The alert that a server sends when it expects TLS begins with this byte.
    if text.contains(#"got "\x15""#) {
      return .protocolViolation(reason: "it speaks TLS; use rediss:// or a port without it")
    }
    return .protocolViolation(reason: text.isEmpty ? "the reader is out of memory" : text)
  }
}
