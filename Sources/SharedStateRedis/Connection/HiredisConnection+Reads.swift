/// Reads: MGET, and the commands that distinguish an absent key from one of another type.
extension HiredisConnection {
  func handleValues(of read: PendingRead, _ reply: RedisReplyView) throws(RedisSharedStateError) {
    if let error = Self.error(reply, "MGET") {
      return answer(read.id, .failure(error.concerning(read.keys, \.readKeys)))
    }
    guard reply.kind == .array, reply.count == 2 * read.keys.count else { throw Self.unknownReply("MGET") }
    read.values.reserveCapacity(read.keys.count)
    for index in read.keys.indices {
      read.values.append(StoredValue(meta: reply[2 * index + 1], document: reply[2 * index]))
    }
    let missing = read.keys.indices.filter { read.values[$0].content == .absent }
    if missing.count > 1 {
      // A server that has lost everything is asked once, not for each key.
      encoder.exist(missing.lazy.map { read.keys[$0].value })
      expectedReplies.append(.existing(read, indices: missing))
      read.outstanding += 1
    } else {
      for index in missing { askForType(of: read, index) }
    }
    finish(read)
  }

  func handleMetas(of pending: PendingSummaries, _ reply: RedisReplyView) throws(RedisSharedStateError) {
    if let error = Self.error(reply, "MGET") {
      pending.failure = pending.failure ?? error.concerning(pending.keys, \.metaKeys)
    } else {
      guard reply.kind == .array, reply.count == pending.keys.count else { throw Self.unknownReply("MGET") }
      pending.metas = (0..<pending.keys.count).map { Meta(reply[$0]) }
    }
    if !pending.asksForListeners { answer(pending.id, pending.reply()) }
  }

  func handleLength(of pending: PendingSummaries, _ reply: RedisReplyView) throws(RedisSharedStateError) {
    switch (reply.kind, Self.error(reply, "STRLEN")) {
    case (.integer, _) where reply.integer >= 0: pending.lengths.append(Int(clamping: reply.integer))
    case (.error, .serverError(code: "WRONGTYPE")): pending.lengths.append(nil)
    case (.error, let error?):
      pending.lengths.append(nil)
      pending.failure = pending.failure ?? error.concerning(pending.keys, \.valueKeys)
    default: throw Self.unknownReply("STRLEN")
    }
  }

  func handleListeners(of pending: PendingSummaries, _ reply: RedisReplyView) throws(RedisSharedStateError) {
    var listeners = [Int?](repeating: nil, count: pending.keys.count)
    // Without the permission to ask, the numbers of listeners stay unknown.
    if reply.kind != .error {
      guard reply.kind == .array, reply.count == 2 * pending.keys.count else {
        throw Self.unknownReply("PUBSUB NUMSUB")
      }
      listeners = (0..<pending.keys.count).map { Int(clamping: reply[2 * $0 + 1].integer) }
    }
    answer(pending.id, pending.reply(listeners))
  }

  func handleExisting(of read: PendingRead, _ indices: [Int], _ reply: RedisReplyView) {
    read.outstanding -= 1
    // If EXISTS was refused, the type of each key is requested.
    if reply.kind != .integer || reply.integer != 0 { for index in indices { askForType(of: read, index) } }
    finish(read)
  }

  func handleType(of read: PendingRead, _ index: Int, _ reply: RedisReplyView) {
    read.outstanding -= 1
    if let error = Self.error(reply, "TYPE") {
      read.failure = error.concerning([read.keys[index]], \.valueKeys)
    } else if reply.isEqual(to: "string") {
      if read.allowsReread() {
        encoder.read(CollectionOfOne(read.keys[index]))
        expectedReplies.append(.value(read, index: index))
        read.outstanding += 1
      }
    } else if !reply.isEqual(to: "none") {
      read.values[index].content = .otherType(reply.string)
    }
    finish(read)
  }

  func handleValue(of read: PendingRead, _ index: Int, _ reply: RedisReplyView) throws(RedisSharedStateError) {
    read.outstanding -= 1
    if let error = Self.error(reply, "MGET") {
      read.failure = error.concerning([read.keys[index]], \.readKeys)
    } else {
      guard reply.count == 2 else { throw Self.unknownReply("MGET") }
      read.values[index] = StoredValue(meta: reply[1], document: reply[0])
      if read.values[index].content == .absent { askForType(of: read, index) }
    }
    finish(read)
  }

  private func askForType(of read: PendingRead, _ index: Int) {
    encoder.type(of: read.keys[index])
    expectedReplies.append(.type(read, index: index))
    read.outstanding += 1
  }

  private func finish(_ read: PendingRead) {
    if let reply = read.reply { answer(read.id, reply) }
  }
}

/// A read request whose values are not all known yet: MGET returns nil both for an absent key and for another type.
final class PendingRead {
  let id: UInt64
  let keys: [KeyNames]
  /// The upper bound of each reply that contains values.
  let bound: ReplyBound
  var values: [StoredValue] = []
  /// How many commands after the MGET have not been answered.
  var outstanding = 0
  var failure: RedisSharedStateError?
  /// How often a key that was absent had become a string in the meantime.
  private var rereads = 0

  /// A key that appears and disappears faster than it can be read counts as absent in the end.
  private static let maximumRereads = 64

  init(id: UInt64, keys: [KeyNames], bound: ReplyBound) {
    self.id = id
    self.keys = keys
    self.bound = bound
  }

  /// The answer, once nothing is outstanding.
  var reply: RedisReply? {
    guard outstanding == 0 else { return nil }
    return failure.map { .failure($0) } ?? .values(values)
  }

  func allowsReread() -> Bool {
    rereads += 1
    return rereads <= Self.maximumRereads + keys.count
  }
}

/// A request for summaries that is not answered yet.
final class PendingSummaries {
  let id: UInt64
  let keys: [KeyNames]
  let asksForListeners: Bool
  var metas: [Meta?] = []
  /// One for each key; `nil`: the key holds another type.
  var lengths: [Int?] = []
  var failure: RedisSharedStateError?

  init(id: UInt64, keys: [KeyNames], asksForListeners: Bool) {
    (self.id, self.keys, self.asksForListeners) = (id, keys, asksForListeners)
  }

  /// The answer, once all other parts have arrived.
  func reply(_ listeners: [Int?]? = nil) -> RedisReply {
    if let failure { return .failure(failure) }
    return .summaries(
      keys.indices.map { StoredSummary(meta: metas[$0], length: lengths[$0], listeners: listeners?[$0]) }
    )
  }
}
