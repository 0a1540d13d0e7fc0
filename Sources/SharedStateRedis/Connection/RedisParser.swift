internal import CHiredis

/// Parses replies (RESP2) out of the bytes that arrive, in pieces of any size, within a bound.
package final class RedisParser {
  /// The most that the reply may be that is arriving, or that comes next.
  package var bound: ReplyBound {
    didSet { limitArrays() }
  }

  private let reader: UnsafeMutablePointer<redisReader>
  /// What the reader asks before it makes an array. It holds on to it.
  private let limits: UnsafeMutablePointer<shared_state_reply_limits>
  /// The reply that was returned last: it lives until the next one is asked for.
  private var current: UnsafeMutableRawPointer?
  /// How many bytes were added since the last reply that was complete has ended.
  private var fedBytes = 0

  /// An empty buffer of the reader that is larger is given back.
  private static let keptCapacity = 262_144
  /// No length of a string has more digits, with its end.
  private static let lengthBytes = 24

  /// Makes a parser that has seen nothing.
  package init(bound: ReplyBound = .largest) {
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

  /// How many bytes wait to be parsed: a string is, once it has arrived as a whole.
  package var bufferedBytes: Int { Int(reader.pointee.len - reader.pointee.pos) }

  /// Adds bytes. Small pieces, each followed by ``next()`` until it is `nil`, are fast: the reader moves what it has
  /// not parsed to the front of its buffer time and again.
  /// - Throws: ``RedisSharedStateError/Code/protocolViolation``.
  package func feed(_ bytes: UnsafeRawBufferPointer) throws(RedisSharedStateError) {
    let result = redisReaderFeed(reader, bytes.assumingMemoryBound(to: CChar.self).baseAddress, bytes.count)
    guard result == REDIS_OK else { throw violation }
    fedBytes += bytes.count
  }

  /// The next complete reply, valid until this is called again; `nil`: more bytes are needed.
  /// - Throws: ``RedisSharedStateError/Code/protocolViolation``, also for what exceeds the bound.
  package func next() throws(RedisSharedStateError) -> RedisReplyView? {
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

  /// Looks at how far the reply has come, and how far it will come at the least. It takes the same time however much of it
  /// there is.
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

  /// What the string says that is waited for; `nil`: a line is, or it has not said it yet.
  private var announcedLength: Int? {
    // Whatever ends with its line is parsed as soon as that is there, and a string is not. Half of the end of a line is
    // none: it stands within an error, or is where a number was split.
    let start = UnsafeRawPointer(reader.pointee.buf.advanced(by: Int(reader.pointee.pos)))
    var scanner = ByteScanner(UnsafeRawBufferPointer(start: start, count: min(bufferedBytes, Self.lengthBytes)))
    guard let length = scanner.number(), scanner.skip("\r"), scanner.skip("\n") else { return nil }
    return Int(clamping: length)
  }

  private func limitArrays() {
    (limits.pointee.elements, limits.pointee.depth) = (bound.elements, CInt(bound.depth))
  }

  private var tooLong: RedisSharedStateError {
    .protocolViolation(reason: "a reply has more than the \(bound.bytes) bytes that it may have")
  }

  /// hiredis quotes one byte of what arrived at the most.
  private var violation: RedisSharedStateError {
    if limits.pointee.exceeds_elements != 0 {
      return .protocolViolation(reason: "a reply has more than the \(bound.elements) elements that it may have")
    }
    if limits.pointee.exceeds_depth != 0 {
      return .protocolViolation(reason: "a reply has arrays that are nested more than \(bound.depth) deep")
    }
    let text = withUnsafeBytes(of: &reader.pointee.errstr) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    // What a server that expects TLS says when it hears something else begins with this byte.
    if text.contains(#"got "\x15""#) {
      return .protocolViolation(reason: "it speaks TLS, which is not supported yet; use a port without it")
    }
    return .protocolViolation(reason: text.isEmpty ? "the reader is out of memory" : text)
  }
}
