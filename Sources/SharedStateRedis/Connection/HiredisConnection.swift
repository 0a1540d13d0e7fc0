/// A connection to a Redis server: pairs replies with requests, over a ``RedisStream``.
package final class HiredisConnection: RedisConnection {
  /// What the connection talks over.
  package let stream: RedisStream
  package let facts: ServerFacts
  private let purpose: ConnectionPurpose
  private let waker: Waker
  private let requestTimeout: Duration
  private let encoder: RequestEncoder

  /// Whether the keys that are read are to be tracked; those that scripts read are not.
  private var tracksReads = false
  private var expectations = Queue<Expectation>()
  /// What has arrived, and was not returned yet.
  private var events: [RedisEvent] = []
  /// Why the document of the commit that is answered next could not be staged.
  private var stagingFailure: RedisSharedStateError?
  /// The source of the script was sent, so that its digest will do for every command behind it.
  private var isScriptUnderWay = false

  /// Commands are sent when there are so many bytes of them, so that the server works while we encode the others.
  private static let writeBytes = 262_144

  /// Takes over a stream whose handshake is done.
  package init(
    stream: RedisStream,
    purpose: ConnectionPurpose,
    waker: Waker,
    requestTimeout: Duration,
    digests: ScriptDigests,
    facts: ServerFacts
  ) {
    self.stream = stream
    self.facts = facts
    self.purpose = purpose
    self.waker = waker
    self.requestTimeout = requestTimeout
    encoder = RequestEncoder(formatter: stream.formatter, digests: digests)
  }

  package func send(_ requests: [RedisRequest]) throws(RedisSharedStateError) {
    for index in requests.indices {
      add(requests, index)
      if stream.formatter.count >= Self.writeBytes { try flush() }
    }
    try flush()
  }

  package func receive(until deadline: ContinuousClock.Instant) throws(RedisSharedStateError) -> [RedisEvent] {
    defer { events.removeAll() }
    guard events.isEmpty else { return events }
    var readiness: Readiness
    repeat {
      readiness = try stream.receive(until: deadline, waker: waker, handle)
      try flush()
      // A part of a reply is no reason to return, and the deadline or a wake-up is.
    } while events.isEmpty && readiness == .readable && ContinuousClock.now < deadline
    return events
  }

  package func close() {
    stream.transport.close()
  }

  private func flush() throws(RedisSharedStateError) {
    try stream.flush(timeout: requestTimeout, handle)
  }

  // MARK: Requests

  private func add(_ batch: [RedisRequest], _ index: Int) {
    let id = batch[index].id
    switch batch[index].command {
    case .ping:
      encoder.ping()
      expectations.append(.pong(id: id))
    case .role:
      encoder.role()
      expectations.append(.role(id: id))
    case .track(let redirect, let prefix):
      requirePurpose(.writer)
      encoder.track(redirect: redirect, prefix: prefix)
      expectations.append(.tracking(id: id, isSelective: prefix == nil))
      tracksReads = prefix == nil
    case .read(let keys):
      requirePurpose(.writer)
      guard !keys.isEmpty else { return answer(id, .values([])) }
      if tracksReads {
        encoder.trackNext()
        expectations.append(.trackingOfNext)
      }
      encoder.read(keys)
      expectations.append(.values(PendingRead(id: id, keys: keys)))
    case .commit, .restore:
      requirePurpose(.writer)
      addScript(batch, index, ScriptAttempt(), isStaged: false)
    case .subscribe(let channels):
      requirePurpose(.subscriber)
      guard !channels.isEmpty else { return answer(id, .subscribed) }
      encoder.subscribe(channels)
      expectations.append(.confirmations(id: id, isSubscription: true, missing: channels.count))
    case .unsubscribe(let channels):
      requirePurpose(.subscriber)
      // Without channels the command would mean all of them.
      guard !channels.isEmpty else { return answer(id, .unsubscribed) }
      encoder.unsubscribe(channels)
      expectations.append(.confirmations(id: id, isSubscription: false, missing: channels.count))
    }
  }

  private func addScript(_ batch: [RedisRequest], _ index: Int, _ attempt: ScriptAttempt, isStaged: Bool = true) {
    switch batch[index].command {
    case .commit(let commit):
      if !isStaged, encoder.stage(commit) { expectations.append(.staging) }
      encoder.commit(commit, bySource: attempt.isBySource)
    case .restore(let restore):
      encoder.restore(restore, bySource: attempt.isBySource)
    default:
      return
    }
    expectations.append(.script(batch: batch, index: index, attempt: attempt))
  }

  private func requirePurpose(_ required: ConnectionPurpose) {
    // What a subscribed connection pushes cannot be told apart from the answer to a read.
    precondition(purpose == required, "Send this request on a connection whose purpose is \(required).")
  }

  private func answer(_ id: UInt64, _ reply: RedisReply) {
    events.append(.reply(id: id, reply))
  }

  // MARK: Replies

  private func handle(_ reply: RedisReplyView) throws(RedisSharedStateError) {
    if purpose == .subscriber, reply.kind == .array, try handlePush(reply) { return }
    guard let expectation = expectations.popFirst() else {
      throw .protocolViolation(reason: "a reply came that nothing had asked for")
    }
    switch expectation {
    case .pong(let id):
      answer(id, Self.failure(reply, "PING") ?? .pong)
    case .role(let id):
      let isPrimary = reply.count > 0 && reply[0].isEqual(to: "master")
      answer(id, Self.failure(reply, "ROLE") ?? (isPrimary ? .pong : .failure(.notPrimary)))
    case .tracking(let id, let isSelective):
      let failure = Self.failure(reply, "CLIENT TRACKING")
      if isSelective, failure != nil { tracksReads = false }
      answer(id, failure ?? .tracking)
    case .trackingOfNext:
      // Where tracking was refused, this is refused as well.
      break
    case .values(let read):
      try handleValues(of: read, reply)
    case .existing(let read, let indices):
      try handleExisting(of: read, indices, reply)
    case .type(let read, let index):
      try handleType(of: read, index, reply)
    case .value(let read, let index):
      try handleValue(of: read, index, reply)
    case .staging:
      stagingFailure = Self.error(reply, "SET")
    case .script(let batch, let index, let attempt):
      try handleScript(batch, index, attempt, reply)
    case .confirmations(let id, let isSubscription, _):
      let operation = isSubscription ? "SUBSCRIBE" : "UNSUBSCRIBE"
      guard let failure = Self.failure(reply, operation) else { throw Self.unknownReply(operation) }
      answer(id, failure)
    }
  }

  /// Handles what the server sends to a subscriber; `false`: it is the answer to a PING.
  private func handlePush(_ push: RedisReplyView) throws(RedisSharedStateError) -> Bool {
    guard push.count >= 2 else { throw Self.unknownReply("SUBSCRIBE") }
    let kind = push[0]
    if kind.isEqual(to: "message"), push.count == 3 {
      if push[1].isEqual(to: KeyNames.invalidationChannel) {
        let keys = push[2].kind == .array ? (0..<push[2].count).map { push[2][$0].string } : nil
        events.append(.invalidated(keys))
        return true
      }
      events.append(.message(channel: push[1].string, payload: push[2].data))
      return true
    }
    if kind.isEqual(to: "pong") { return false }
    let isSubscription = kind.isEqual(to: "subscribe")
    guard
      isSubscription || kind.isEqual(to: "unsubscribe"),
      case .confirmations(let id, isSubscription, let missing) = expectations.first
    else { throw Self.unknownReply("SUBSCRIBE") }
    if missing > 1 {
      expectations.replaceFirst(with: .confirmations(id: id, isSubscription: isSubscription, missing: missing - 1))
    } else {
      _ = expectations.popFirst()
      answer(id, isSubscription ? .subscribed : .unsubscribed)
    }
    return true
  }

  private func handleScript(
    _ batch: [RedisRequest],
    _ index: Int,
    _ attempt: ScriptAttempt,
    _ reply: RedisReplyView
  ) throws(RedisSharedStateError) {
    let stagingFailure = self.stagingFailure.take()
    if attempt.isBySource { isScriptUnderWay = false }

    if reply.kind == .error {
      let failure = RedisSharedStateError(errorReply: reply.string, operation: "EVALSHA")
      guard failure == .serverError(code: "NOSCRIPT"), !attempt.isBySource else {
        return answer(batch[index].id, .failure(failure))
      }
      var attempt = attempt
      attempt.unknownScripts += 1
      // Of many commits that the server did not know the script of, one brings it along.
      attempt.isBySource = attempt.unknownScripts > 1 || !isScriptUnderWay
      if attempt.isBySource { isScriptUnderWay = true }
      addScript(batch, index, attempt)
      return
    }
    switch ScriptAnswer(reply) {
    case .reply(let reply):
      answer(batch[index].id, .commit(reply))
    case .stagingMissing:
      if let stagingFailure { return answer(batch[index].id, .failure(stagingFailure)) }
      var attempt = attempt
      attempt.isBySource = false
      attempt.lostStagings += 1
      guard attempt.lostStagings < ScriptAttempt.maximumLostStagings else {
        return answer(batch[index].id, .failure(.serverError(code: "STAGING")))
      }
      addScript(batch, index, attempt, isStaged: false)
    case nil:
      throw Self.unknownReply("EVALSHA")
    }
  }

  private func handleValues(of read: PendingRead, _ reply: RedisReplyView) throws(RedisSharedStateError) {
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

  private func handleExisting(
    of read: PendingRead,
    _ indices: [Int],
    _ reply: RedisReplyView
  ) throws(RedisSharedStateError) {
    read.outstanding -= 1
    // Where it was refused, each is asked for.
    if reply.kind != .integer || reply.integer != 0 { for index in indices { askForType(of: read, index) } }
    finish(read)
  }

  private func handleType(of read: PendingRead, _ index: Int, _ reply: RedisReplyView) throws(RedisSharedStateError) {
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

  private func handleValue(of read: PendingRead, _ index: Int, _ reply: RedisReplyView) throws(RedisSharedStateError) {
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

  private static func error(_ reply: RedisReplyView, _ operation: String) -> RedisSharedStateError? {
    reply.kind == .error ? RedisSharedStateError(errorReply: reply.string, operation: operation) : nil
  }

  private static func failure(_ reply: RedisReplyView, _ operation: String) -> RedisReply? {
    error(reply, operation).map { .failure($0) }
  }

  private static func unknownReply(_ operation: String) -> RedisSharedStateError {
    .protocolViolation(reason: "the answer to \(operation) has an unknown form")
  }
}
