/// The acknowledgements of replicas.
extension HiredisConnection {
  func addWait(_ wait: ReplicaWait, _ id: UInt64) {
    requirePurpose(.writer)
    if let mark = wait.mark {
      encoder.mark(mark)
      expectedReplies.append(.mark)
    }
    encoder.wait(for: wait.replicas)
    expectedReplies.append(.acknowledgements(id: id, wait.replicas))
  }

  func handleAcknowledgements(
    _ id: UInt64,
    _ replicas: RedisReplicas,
    _ reply: RedisReplyView
  ) throws(RedisSharedStateError) {
    // Without the mark, the answer says nothing about what other connections have written.
    if let error = markFailure.take() { return answer(id, .failure(error)) }
    if let error = Self.error(reply, replicas.command) {
      guard error.serverErrorCode != nil, !error.isTransient else { return answer(id, .failure(error)) }
      let text = reply.string
      // It has become a replica: before the request, or while the request was blocked.
      if text.contains("replica instances") || text.hasPrefix("UNBLOCKED") { return answer(id, .failure(.notPrimary)) }
      let reason = "Redis answers \(replicas.command) with '\(RedisName.printable(text))'"
      return answer(id, .replicas(.refused(reason)))
    }
    var count = reply
    if replicas.isOnDisk {
      guard reply.kind == .array, reply.count == 2, reply[0].kind == .integer else {
        throw Self.unknownReply(replicas.command)
      }
      guard reply[0].integer > 0 else { return answer(id, .replicas(.notOnOwnDisk)) }
      count = reply[1]
    }
    guard count.kind == .integer else { throw Self.unknownReply(replicas.command) }
    let acknowledged = Int(clamping: count.integer)
    answer(id, .replicas(acknowledged < replicas.count ? .acknowledged(acknowledged) : nil))
  }
}
