import Foundation

/// The thread that listens to one Sentinel at a time, and reports when it announces another primary.
struct SentinelListener: Sendable {
  private let resolver: SentinelResolver

  private static let channel = "+switch-master"

  init(_ resolver: SentinelResolver) {
    self.resolver = resolver
  }

  /// Listens until the resolver is closed.
  func run() {
    var failures = 0
    while !resolver.isClosed {
      guard let sentinel = resolver.preferred else { return }
      do throws(RedisSharedStateError) {
        try listen(to: sentinel) { failures = 0 }
        continue
      } catch {
        resolver.avoid(sentinel)
      }
      failures += 1
      let (backoff, random) = (resolver.timing.backoff, Double.random(in: 0..<1))
      let pause = backoff.delay(failures: failures, isPermanent: false, random: random)
      if !resolver.isClosed { resolver.waker.wait(until: .now + pause) }
    }
  }

  /// Returns when another Sentinel is to be listened to, or the resolver is closed.
  ///
  /// - Parameter begun: Called once nothing has been missed, and the Sentinel is still the one to listen to.
  /// - Throws: The connection has failed.
  private func listen(to sentinel: RedisEndpoint, begun: () -> Void) throws(RedisSharedStateError) {
    let timing = resolver.timing
    var deadline = Instant.now + timing.connectTimeout
    let connection = try resolver.connect(to: sentinel, until: &deadline)
    let stream = connection.stream
    try connection.ask(["SUBSCRIBE", Self.channel], bound: .push, until: deadline) {
      (reply) throws(RedisSharedStateError) in
      if reply.kind == .array { return }
      guard reply.kind == .error else { throw HiredisConnection.unknownReply("SUBSCRIBE") }
      let refusal = RedisSharedStateError(errorReply: reply.string, operation: "SUBSCRIBE")
      if refusal.code == .permissionDenied { resolver.refusesToAnnounce(sentinel, refusal) }
      throw refusal
    }
    resolver.willAnnounce()
    resolver.compare()
    if resolver.preferred == sentinel { begun() }

    var (lastHeard, pinged) = (Instant.now, false)
    while !resolver.isClosed, resolver.preferred == sentinel {
      let until = lastHeard + timing.keepAlive + (pinged ? timing.requestTimeout : .zero)
      let interests = PerConnection<Interest?> { $0 == .subscriber ? stream.interest : nil }
      guard try resolver.waker.wait(for: interests, until: until)[.subscriber] else {
        resolver.waker.clear()
        guard Instant.now >= until else { continue }
        guard !pinged else { throw .timedOut(operation: "PING") }
        connection.send([Data("PING".utf8)])
        try stream.flush()
        pinged = true
        continue
      }
      try stream.receive { (reply) throws(RedisSharedStateError) in
        guard let primary = primary(in: reply) else { return }
        try resolver.announced(primary)
      }
      (lastHeard, pinged) = (.now, false)
    }
  }

  /// The new primary that a message announces: its name, the old address and the new one, each of host and port.
  private func primary(in reply: RedisReplyView) -> RedisEndpoint? {
    guard reply.kind == .array, reply.count == 3, reply[0].isEqual(to: "message") else { return nil }
    let words = reply[2].string.split(separator: " ")
    guard words.count == 5, words[0] == resolver.sentinels.primary else { return nil }
    return SentinelResolver.endpoint(String(words[3]), String(words[4]))
  }
}
