/// Reads: MGET, and what tells an absent key from one of another type.
extension HiredisConnection {
  func handleValues(of read: PendingRead, _ reply: RedisReplyView) throws(RedisSharedStateError) {
    if let failure = Self.failure(reply, "MGET") { return answer(read.id, failure) }
    guard reply.kind == .array, reply.count == 2 * read.keys.count else { throw Self.unknownReply("MGET") }
    read.values.reserveCapacity(read.keys.count)
    for index in read.keys.indices {
      read.values.append(StoredValue(meta: reply[2 * index + 1], document: reply[2 * index]))
    }
    let missing = read.keys.indices.filter { read.values[$0].content == .absent }
    if missing.count > 1 {
      // A server that has lost everything is asked once, not for each key.
      encoder.exist(missing.lazy.map { read.keys[$0].value })
      expectations.append(.existing(read, indices: missing))
      read.outstanding += 1
    } else {
      for index in missing { askForType(of: read, index) }
    }
    finish(read)
  }

  func handleMetas(of pending: PendingSummaries, _ reply: RedisReplyView) throws(RedisSharedStateError) {
    if let error = Self.error(reply, "MGET") {
      pending.failure = pending.failure ?? error
    } else {
      guard reply.kind == .array, reply.count == pending.count else { throw Self.unknownReply("MGET") }
      pending.metas = (0..<pending.count).map { Meta(reply[$0]) }
    }
  }

  func handleLength(of pending: PendingSummaries, _ reply: RedisReplyView) throws(RedisSharedStateError) {
    switch (reply.kind, Self.error(reply, "STRLEN")) {
    case (.integer, _) where reply.integer >= 0: pending.lengths.append(Int(clamping: reply.integer))
    case (.error, .serverError(code: "WRONGTYPE")): pending.lengths.append(nil)
    case (.error, let error?):
      pending.lengths.append(nil)
      pending.failure = pending.failure ?? error
    default: throw Self.unknownReply("STRLEN")
    }
  }

  func handleListeners(of pending: PendingSummaries, _ reply: RedisReplyView) throws(RedisSharedStateError) {
    var listeners = [Int?](repeating: nil, count: pending.count)
    // Who may not ask for their number does without it.
    if reply.kind != .error {
      guard reply.kind == .array, reply.count == 2 * pending.count else { throw Self.unknownReply("PUBSUB NUMSUB") }
      listeners = (0..<pending.count).map { Int(clamping: reply[2 * $0 + 1].integer) }
    }
    answer(pending.id, pending.reply(listeners))
  }

  func handleExisting(of read: PendingRead, _ indices: [Int], _ reply: RedisReplyView) {
    read.outstanding -= 1
    // Where it was refused, each is asked for.
    if reply.kind != .integer || reply.integer != 0 { for index in indices { askForType(of: read, index) } }
    finish(read)
  }

  func handleType(of read: PendingRead, _ index: Int, _ reply: RedisReplyView) {
    read.outstanding -= 1
    if let error = Self.error(reply, "TYPE") {
      read.failure = error
    } else if reply.isEqual(to: "string") {
      if read.allowsReread() {
        encoder.read(CollectionOfOne(read.keys[index]))
        expectations.append(.value(read, index: index))
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
      read.failure = error
    } else {
      guard reply.count == 2 else { throw Self.unknownReply("MGET") }
      read.values[index] = StoredValue(meta: reply[1], document: reply[0])
      if read.values[index].content == .absent { askForType(of: read, index) }
    }
    finish(read)
  }

  private func askForType(of read: PendingRead, _ index: Int) {
    encoder.type(of: read.keys[index])
    expectations.append(.type(read, index: index))
    read.outstanding += 1
  }

  private func finish(_ read: PendingRead) {
    if let reply = read.reply { answer(read.id, reply) }
  }
}
