import DequeModule

/// A connection to a Redis server: matches replies with requests, over a ``RedisStream``.
final class HiredisConnection: RedisConnection {
  /// The stream of commands and replies.
  let stream: RedisStream
  let facts: ServerFacts
  private let purpose: ConnectionPurpose
  /// The connection's user on the server; `nil`: the default one.
  private let account: RedisSharedStateError.Account?
  private let access: RedisAccess
  /// Whether the server does not let the user ask what it may access.
  private var hidesRights = false
  let encoder: RequestEncoder

  /// Whether summarized values are tracked; values that scripts read are not.
  private var tracksReads = false
  /// Why tracking was refused.
  private var trackingFailure: RedisReply?
  private var vitalsParser: VitalsParser
  var expectedReplies = Deque<ExpectedReply>()
  /// The events that have arrived and were not returned yet.
  private var events: [RedisEvent] = []
  private var failure: RedisSharedStateError?
  /// Why the document of the next commit to be answered could not be staged.
  var stagingFailure: RedisSharedStateError?
  /// Why the mark could not be written that a wait for replicas needs.
  var markFailure: RedisSharedStateError?
  /// Whether the source of the script was sent, so that its digest is enough for every later command.
  var isScriptUnderWay = false

  /// Whether the last ``receive()`` has received a complete reply or message, or a large part of one.
  private(set) var hasHeard = false
  /// How many bytes had arrived when ``hasHeard`` was last set.
  private var heardBytes = 0

  /// Once this many bytes are encoded, they are sent, so that the server works on them while the rest is encoded.
  private static let writeBytes = 262_144
  /// This much of a reply counts as progress: a large reply may take long on a slow network, but one that arrives byte
  /// by byte may not.
  private static let heardPiece = 1 << 20

  /// Takes over a stream whose handshake is done.
  init(
    stream: RedisStream,
    purpose: ConnectionPurpose,
    account: RedisSharedStateError.Account? = nil,
    access: RedisAccess = .readWrite,
    digests: ScriptDigests,
    dialect: Dialect = .single,
    facts: ServerFacts
  ) {
    self.account = account
    self.access = access
    self.stream = stream
    self.facts = facts
    vitalsParser = VitalsParser(runID: facts.runID)
    self.purpose = purpose
    encoder = RequestEncoder(formatter: stream.formatter, digests: digests, dialect: dialect)
    stream.bound = purpose == .subscriber ? .push : .word
  }

  func send(_ requests: [RedisRequest]) throws(RedisSharedStateError) {
    let isIdle = expectedReplies.first == nil
    var index = requests.startIndex
    while index < requests.endIndex {
      let restores = Self.restores(in: requests, from: index)
      if restores.isEmpty {
        add(requests, index)
        index += 1
      } else {
        addRestores(requests, restores, ScriptAttempt())
        index = restores.upperBound
      }
      if stream.formatter.count >= Self.writeBytes { try stream.flush() }
    }
    if isIdle { expectNext() }
    try stream.flush()
  }

  var interest: Interest { events.isEmpty && failure == nil ? stream.interest : .arrived }

  func receive() -> Arrivals {
    defer { events.removeAll() }
    hasHeard = false
    do throws(RedisSharedStateError) {
      if failure == nil { try stream.receive(handle) }
    } catch {
      failure = error
    }
    if stream.receivedBytes - heardBytes >= Self.heardPiece { hear() }
    return Arrivals(events: events, hasHeard: hasHeard, failure: failure)
  }

  func close() {
    stream.transport.close()
  }

  private func hear() {
    hasHeard = true
    heardBytes = stream.receivedBytes
  }

  // MARK: Requests

  private func add(_ batch: [RedisRequest], _ index: Int) {
    let id = batch[index].id
    switch batch[index].command {
    case .ping:
      encoder.ping()
      expectedReplies.append(.pong(id: id))
    case .role:
      encoder.role()
      expectedReplies.append(.role(id: id))
    case .vitals:
      encoder.info("replication")
      expectedReplies.append(.information(.replication))
      encoder.info("stats")
      expectedReplies.append(.information(.statistics, completes: id))
    case .secret(let key, let candidate):
      requirePurpose(.writer)
      if let candidate {
        // A user without the right to store it may still read it.
        encoder.store(candidate, at: key)
        expectedReplies.append(.ignored)
      }
      encoder.get(key)
      expectedReplies.append(.secret(id: id))
    case .track(let redirect, let prefix):
      requirePurpose(.writer)
      encoder.track(redirect: redirect, prefix: prefix)
      tracksReads = prefix == nil
      if tracksReads {
        encoder.trackNext()
        expectedReplies.append(.selectiveTracking)
        expectedReplies.append(.rightToTrackNext(id: id))
        // Otherwise the keys of a script that comes next would be tracked.
        encoder.ping()
        expectedReplies.append(.ignored)
      } else {
        expectedReplies.append(.tracking(id: id))
      }
    case .read(let keys):
      requirePurpose(.writer)
      guard !keys.isEmpty else { return answer(id, .values([])) }
      encoder.read(keys)
      let bound = batch[index].bound ?? .values(of: keys.count)
      expectedReplies.append(.values(PendingRead(id: id, keys: keys, bound: bound)))
    case .summarize(let keys, let listeners):
      requirePurpose(.writer)
      guard !keys.isEmpty else { return answer(id, .summaries([])) }
      if tracksReads { track(keys, .ignored) }
      addSummary(PendingSummaries(id: id, keys: keys, asksForListeners: listeners))
    case .trackAgain(let keys):
      requirePurpose(.writer)
      track(keys, .trackedAgain(id: id))
    case .base(let key, let maximumBytes):
      requirePurpose(.writer)
      encoder.read(key, maximumBytes: maximumBytes)
      expectedReplies.append(.document(id: id, maximumBytes: maximumBytes))
    case .document(let key, let maximumBytes):
      requirePurpose(.writer)
      if tracksReads {
        encoder.trackNext()
        expectedReplies.append(.ignored)
      }
      encoder.read(key.value, maximumBytes: maximumBytes)
      expectedReplies.append(.document(id: id, maximumBytes: maximumBytes))
    case .commit(let commit):
      addCommit(commit, batch, index, ScriptAttempt(), isStaged: false)
    case .restore:
      addRestores(batch, index..<index + 1, ScriptAttempt())
    case .wait(let wait):
      addWait(wait, id)
    case .subscribe(let channels):
      requirePurpose(.subscriber)
      guard !channels.isEmpty else { return answer(id, .subscribed) }
      encoder.subscribe(channels)
      expectedReplies.append(.confirmations(id: id, isSubscription: true, channels: channels, missing: channels.count))
    case .unsubscribe(let channels):
      requirePurpose(.subscriber)
      // Without channels the command would mean all of them.
      guard !channels.isEmpty else { return answer(id, .unsubscribed) }
      encoder.unsubscribe(channels)
      expectedReplies.append(.confirmations(id: id, isSubscription: false, channels: channels, missing: channels.count))
    }
  }

  /// Tracks keys, before anything is read, so that every later write is reported. The permission was checked when
  /// tracking was turned on.
  private func track(_ keys: [KeyNames], _ expected: ExpectedReply) {
    if tracksReads {
      encoder.trackNext()
      expectedReplies.append(.ignored)
    }
    encoder.exist(keys.lazy.map(\.value))
    expectedReplies.append(expected)
  }

  private func addSummary(_ pending: PendingSummaries) {
    for key in pending.keys {
      encoder.length(of: key)
      expectedReplies.append(.length(pending))
    }
    encoder.readMetas(pending.keys)
    expectedReplies.append(.metas(pending))
    guard pending.asksForListeners else { return }
    encoder.listeners(to: pending.keys)
    expectedReplies.append(.listeners(pending))
  }

  func requirePurpose(_ required: ConnectionPurpose) {
    // A message that is pushed on a subscribed connection cannot be distinguished from the reply to a read.
    precondition(purpose == required, "Send this request on a connection whose purpose is \(required).")
  }

  func answer(_ id: UInt64, _ reply: RedisReply) {
    guard case .failure(let error) = reply else { return events.append(.reply(id: id, reply)) }
    let refusal = error.denied(to: account)
    // A subscriber may not ask. A request for several values is split, and the values are refused one by one.
    if purpose == .writer, !hidesRights, let subject = refusal.deniedSubject, subject.kind == .key,
      !subject.names.isEmpty
    {
      encoder.rights(of: account?.user ?? "default")
      expectedReplies.append(.rights(id: id, refusal))
    } else {
      events.append(.reply(id: id, .failure(refusal)))
    }
  }

  /// Answers a request that was refused because of a key, with the keys that the user may access if the server names
  /// them.
  private func answer(_ id: UInt64, _ error: RedisSharedStateError, rights reply: RedisReplyView) {
    let patterns = ACLUser(reply)?.keys
    hidesRights = patterns == nil
    events.append(.reply(id: id, .failure(patterns.map { error.granting($0) } ?? error)))
  }

  // MARK: Replies

  private func handle(_ reply: RedisReplyView) throws(RedisSharedStateError) {
    hear()
    guard !Self.isMoved(reply) else { throw encoder.dialect.isCluster ? .moved : Handshake.isNode }
    try match(reply)
    expectNext()
  }

  /// Bounds the next reply by the request that it answers.
  private func expectNext() {
    // Messages are pushed to a subscriber at any time, so its bound is always the same.
    guard purpose == .writer else { return }
    stream.bound = expectedReplies.first?.bound ?? .word
  }

  private func match(_ reply: RedisReplyView) throws(RedisSharedStateError) {
    if purpose == .subscriber, reply.kind == .array, try handlePush(reply) { return }
    guard let expected = expectedReplies.popFirst() else {
      throw .protocolViolation(reason: "a reply arrived without a request")
    }
    switch expected {
    case .pong(let id):
      answer(id, Self.failure(reply, "PING") ?? .pong)
    case .role(let id):
      answer(id, Self.failure(reply, "ROLE") ?? access.refusal(of: reply).map { .failure($0) } ?? .pong)
    case .information(let section, let id):
      if let error = Self.error(reply, "INFO") {
        vitalsParser.lose(section, error)
      } else {
        vitalsParser.take(ServerInfo(reply.string))
      }
      guard let id else { break }
      let refusal = vitalsParser.refusal ?? .permissionDenied(operation: "INFO")
      answer(id, vitalsParser.vitals.map { .vitals($0) } ?? .failure(refusal))
    case .rights(let id, let error):
      answer(id, error, rights: reply)
    case .secret(let id):
      answer(id, Self.failure(reply, "GET") ?? .secret(reply.text.flatMap { Secret($0) }))
    case .tracking(let id):
      answer(id, Self.failure(reply, "CLIENT TRACKING") ?? .tracking)
    case .selectiveTracking:
      trackingFailure = Self.failure(reply, "CLIENT TRACKING")
    case .rightToTrackNext(let id):
      let failure = trackingFailure ?? Self.failure(reply, "CLIENT CACHING")
      if failure != nil { tracksReads = false }
      answer(id, failure ?? .tracking)
    case .ignored:
      break
    case .trackedAgain(let id):
      answer(id, Self.failure(reply, "EXISTS") ?? .existing(Int(clamping: reply.integer)))
    case .document(let id, let maximumBytes):
      switch (reply.kind, Self.error(reply, "GETRANGE")) {
      case (.error, .serverError(code: "WRONGTYPE")): answer(id, .document(nil))
      case (_, let error?): answer(id, .failure(error))
      default:
        let content = reply.kind == .string ? KeptBase.content(reply.data, maximumBytes: maximumBytes) : nil
        answer(id, .document(content))
      }
    case .values(let read):
      try handleValues(of: read, reply)
    case .metas(let pending):
      try handleMetas(of: pending, reply)
    case .length(let pending):
      try handleLength(of: pending, reply)
    case .listeners(let pending):
      try handleListeners(of: pending, reply)
    case .existing(let read, let indices):
      handleExisting(of: read, indices, reply)
    case .type(let read, let index):
      handleType(of: read, index, reply)
    case .value(let read, let index):
      try handleValue(of: read, index, reply)
    case .staging:
      stagingFailure = Self.error(reply, "SET")
    case .commit(let batch, let index, let attempt):
      try handleCommit(batch, index, attempt, reply)
    case .restores(let batch, let indices, let attempt):
      try handleRestores(batch, indices, attempt, reply)
    case .mark:
      markFailure = Self.error(reply, "SET")
    case .acknowledgements(let id, let replicas):
      try handleAcknowledgements(id, replicas, reply)
    case .confirmations(let id, let isSubscription, let channels, _):
      let operation = isSubscription ? "SUBSCRIBE" : "UNSUBSCRIBE"
      guard let error = Self.error(reply, operation) else { throw Self.unknownReply(operation) }
      answer(id, .failure(error.concerning(nil, channels.count == 1 ? channels : [])))
    }
  }

  /// Handles what the server sends to a subscriber; `false`: it is the answer to a PING.
  private func handlePush(_ push: RedisReplyView) throws(RedisSharedStateError) -> Bool {
    guard push.count >= 2 else { throw Self.unknownReply("SUBSCRIBE") }
    let kind = push[0]
    if kind.isEqual(to: "message") || kind.isEqual(to: "smessage"), push.count == 3 {
      if push[1].isEqual(to: KeyNames.invalidationChannel) {
        switch push[2].kind {
        // A key that is not UTF-8 belongs to no value. A repaired text might be the name of one.
        case .array: events.append(.invalidated((0..<push[2].count).compactMap { push[2][$0].text }))
        case .null: events.append(.invalidated(nil))
        // A client that may publish on this channel can send anything except these two kinds.
        default: events.append(.message(channel: push[1].string, payload: push[2].data))
        }
        return true
      }
      events.append(.message(channel: push[1].string, payload: push[2].data))
      return true
    }
    if kind.isEqual(to: "pong") { return false }
    let isSubscription = kind.isEqual(to: "subscribe") || kind.isEqual(to: "ssubscribe")
    let isSharded = kind.isEqual(to: "sunsubscribe")
    guard
      isSubscription || isSharded || kind.isEqual(to: "unsubscribe"),
      case .confirmations(let id, isSubscription, let channels, let missing) = expectedReplies.first
      // The server unsubscribes a client by itself when another node gets the slot of the channel.
    else { throw isSharded ? .moved : Self.unknownReply("SUBSCRIBE") }
    if missing > 1 {
      expectedReplies[0] =
        .confirmations(id: id, isSubscription: isSubscription, channels: channels, missing: missing - 1)
    } else {
      _ = expectedReplies.popFirst()
      answer(id, isSubscription ? .subscribed : .unsubscribed)
    }
    return true
  }

  private static func isMoved(_ reply: RedisReplyView) -> Bool {
    reply.kind == .error && reply.string.hasPrefix("MOVED ")
  }

  static func error(_ reply: RedisReplyView, _ operation: String) -> RedisSharedStateError? {
    reply.kind == .error ? RedisSharedStateError(errorReply: reply.string, operation: operation) : nil
  }

  static func failure(_ reply: RedisReplyView, _ operation: String) -> RedisReply? {
    error(reply, operation).map { .failure($0) }
  }

  static func unknownReply(_ operation: String) -> RedisSharedStateError {
    .protocolViolation(reason: "the reply to \(operation) has an unknown form")
  }
}
