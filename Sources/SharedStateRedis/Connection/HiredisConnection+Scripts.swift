import SharedState

/// Commits and restores: the arguments of the scripts, and their replies.
extension HiredisConnection {
  func addCommit(
    _ commit: Commit,
    _ batch: [RedisRequest],
    _ index: Int,
    _ attempt: ScriptAttempt,
    isStaged: Bool = true
  ) {
    requirePurpose(.writer)
    if !isStaged {
      // They stay if the commit conflicts or is held. Their keys name the version, so another attempt keeps the same.
      for kept in commit.kept {
        encoder.keep(kept)
        // What a server does not keep, it is asked for without success.
        expectedReplies.append(.ignored)
      }
      if encoder.stage(commit) { expectedReplies.append(.staging) }
    }
    encoder.commit(commit, bySource: attempt.isBySource)
    expectedReplies.append(.commit(batch: batch, index: index, attempt: attempt))
  }

  func addRestores(_ batch: [RedisRequest], _ indices: Range<Int>, _ attempt: ScriptAttempt) {
    requirePurpose(.writer)
    let restores = batch[indices].compactMap { if case .restore(let restore) = $0.command { restore } else { nil } }
    encoder.restore(restores, bySource: attempt.isBySource)
    expectedReplies.append(.restores(batch: batch, indices: indices, attempt: attempt))
  }

  /// The restores, from `start`, that one call of the script handles: all of one kind. Large ones are sent alone.
  static func restores(in batch: [RedisRequest], from start: Int) -> Range<Int> {
    var values: Set<Name> = []
    var isLasting: Bool?
    var end = start
    while end < batch.endIndex, values.count < RestoreScript.maximumValues,
      case .restore(let restore) = batch[end].command, !restore.isLarge,
      values.insert(Name(restore.names.value)).inserted, isLasting ?? restore.isLasting == restore.isLasting
    {
      isLasting = restore.isLasting
      end += 1
    }
    return start..<end
  }

  func handleCommit(
    _ batch: [RedisRequest],
    _ index: Int,
    _ attempt: ScriptAttempt,
    _ reply: RedisReplyView
  ) throws(RedisSharedStateError) {
    let stagingFailure = self.stagingFailure.take().map { error in
      let commit = commit(of: batch[index])
      return error.concerning(commit.names.name, [commit.names.staging(for: commit.operation)])
    }
    if let attempt = nextAttempt(after: reply, attempt) {
      return addCommit(commit(of: batch[index]), batch, index, attempt)
    }
    if let error = Self.error(reply, "EVALSHA") {
      let error = error.concerning([commit(of: batch[index]).names], \.scriptKeys)
      return answer(batch[index].id, .failure(stagingFailure ?? error))
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
      addCommit(commit(of: batch[index]), batch, index, attempt, isStaged: false)
    case .unbelievable:
      answer(batch[index].id, .failure(.unbelievableRevision))
    case nil:
      throw Self.unknownReply("EVALSHA")
    }
  }

  /// The commit of a request, needed only when it is sent again.
  private func commit(of request: RedisRequest) -> Commit {
    guard case .commit(let commit) = request.command else {
      fatalError("The answer to a commit is expected at the place of another request.")
    }
    return commit
  }

  func handleRestores(
    _ batch: [RedisRequest],
    _ indices: Range<Int>,
    _ attempt: ScriptAttempt,
    _ reply: RedisReplyView
  ) throws(RedisSharedStateError) {
    if let attempt = nextAttempt(after: reply, attempt) { return addRestores(batch, indices, attempt) }
    if let error = Self.error(reply, "EVALSHA") {
      guard indices.count > 1 else {
        guard case .restore(let restore) = batch[indices.lowerBound].command else { throw Self.unknownReply("EVALSHA") }
        return answer(batch[indices.lowerBound].id, .failure(error.concerning([restore.names], \.scriptKeys)))
      }
      // One of the restores is the reason. The ones before it have taken effect already, and repeating them does no
      // harm.
      for index in indices { addRestores(batch, index..<index + 1, ScriptAttempt()) }
      return
    }
    guard reply.count == indices.count else { throw Self.unknownReply("EVALSHA") }
    for (place, index) in indices.enumerated() {
      guard case .restore(let restore) = batch[index].command, let reply = CommitReply(reply[place], to: restore) else {
        throw Self.unknownReply("EVALSHA")
      }
      answer(batch[index].id, .commit(reply))
    }
  }

  /// The attempt after the server has answered that it does not know the script; `nil`: it has answered something else.
  private func nextAttempt(after reply: RedisReplyView, _ attempt: ScriptAttempt) -> ScriptAttempt? {
    if attempt.isBySource { isScriptUnderWay = false }
    guard !attempt.isBySource, Self.error(reply, "EVALSHA") == .serverError(code: "NOSCRIPT") else { return nil }
    var attempt = attempt
    attempt.unknownScripts += 1
    // When many commits fail because the script is unknown, only one sends the source.
    attempt.isBySource = attempt.unknownScripts > 1 || !isScriptUnderWay
    if attempt.isBySource { isScriptUnderWay = true }
    return attempt
  }
}
