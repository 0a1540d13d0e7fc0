internal import CHiredis

/// Parses replies (RESP2) out of the bytes that arrive, in pieces of any size.
package final class RedisParser {
  private let reader: UnsafeMutablePointer<redisReader>
  /// The reply that was returned last: it lives until the next one is asked for.
  private var current: UnsafeMutableRawPointer?

  /// An empty buffer of the reader that is larger is given back.
  private static let keptCapacity = 262_144
  /// The longest string that Redis has, and some room for what surrounds it.
  private static let maximumUnparsedBytes = 536_870_912 + 65_536

  /// Makes a parser that has seen nothing.
  package init() {
    guard let reader = redisReaderCreate() else { fatalError("hiredis has no memory for a reader.") }
    reader.pointee.maxbuf = Self.keptCapacity
    self.reader = reader
  }

  deinit {
    if let current { freeReplyObject(current) }
    redisReaderFree(reader)
  }

  /// Adds bytes. Small pieces, each followed by ``next()`` until it is `nil`, are fast: the reader moves what it has
  /// not parsed to the front of its buffer time and again.
  /// - Throws: ``RedisSharedStateError/protocolViolation(reason:)``.
  package func feed(_ bytes: UnsafeRawBufferPointer) throws(RedisSharedStateError) {
    guard reader.pointee.len + bytes.count <= Self.maximumUnparsedBytes else {
      throw .protocolViolation(reason: "a reply is longer than Redis allows")
    }
    let result = redisReaderFeed(reader, bytes.assumingMemoryBound(to: CChar.self).baseAddress, bytes.count)
    guard result == REDIS_OK else { throw violation }
  }

  /// The next complete reply, valid until this is called again; `nil`: more bytes are needed.
  /// - Throws: ``RedisSharedStateError/protocolViolation(reason:)``.
  package func next() throws(RedisSharedStateError) -> RedisReplyView? {
    if let previous = current {
      current = nil
      freeReplyObject(previous)
    }
    guard redisReaderGetReply(reader, &current) == REDIS_OK else { throw violation }
    return current.map { RedisReplyView($0.assumingMemoryBound(to: redisReply.self)) }
  }

  /// hiredis quotes one byte of what arrived at the most.
  private var violation: RedisSharedStateError {
    let text = withUnsafeBytes(of: &reader.pointee.errstr) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    return .protocolViolation(reason: text.isEmpty ? "the reader is out of memory" : text)
  }
}
