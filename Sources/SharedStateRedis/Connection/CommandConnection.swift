package import Foundation

/// A connection for single commands, each of which is answered before the next one is sent.
package struct CommandConnection {
  let stream: RedisStream

  /// Connects and logs in.
  ///
  /// - Parameters:
  ///   - credentials: `nil`: the server requires none.
  ///   - deadline: As for ``Dialer/dial(_:until:)``.
  /// - Throws: ``RedisSharedStateError``: the server cannot be reached, or refuses the credentials.
  package init(
    to endpoint: RedisEndpoint,
    _ dialer: any Dialer,
    as credentials: RedisCredentials?,
    until deadline: inout Instant
  ) throws(RedisSharedStateError) {
    stream = RedisStream(transport: try dialer.dial(endpoint, until: &deadline))
    guard let credentials else { return }
    let login = ["AUTH"] + [credentials.user, credentials.password].compactMap(\.self)
    try ask(login, until: deadline) { (reply) throws(RedisSharedStateError) in
      guard !reply.isEqual(to: "OK") else { return }
      let error = RedisSharedStateError(errorReply: reply.string, operation: "AUTH")
      // A server without passwords or users refuses them with ERR.
      if case .serverError(code: "ERR") = error.cause { throw .authenticationFailed }
      throw error
    }
  }

  /// Runs a command.
  ///
  /// - Parameters:
  ///   - bound: The upper bound of the reply.
  ///   - read: Takes the reply, which may be an error.
  /// - Throws: ``RedisSharedStateError/Code/disconnected``, ``RedisSharedStateError/Code/timedOut``,
  ///   ``RedisSharedStateError/Code/protocolViolation``, and what `read` throws.
  package func ask<Answer>(
    _ command: [String],
    bound: ReplyBound = .word,
    until deadline: Instant,
    _ read: (RedisReplyView) throws(RedisSharedStateError) -> Answer
  ) throws(RedisSharedStateError) -> Answer {
    try ask(command.map { Data($0.utf8) }, bound: bound, until: deadline, read)
  }

  /// Runs a command with binary arguments, otherwise like ``ask(_:bound:until:_:)-([String],_,_,_)``.
  package func ask<Answer>(
    _ command: [Data],
    bound: ReplyBound = .word,
    until deadline: Instant,
    _ read: (RedisReplyView) throws(RedisSharedStateError) -> Answer
  ) throws(RedisSharedStateError) -> Answer {
    send(command)
    stream.bound = bound
    var answer: Answer?
    let handle: RedisStream.Handler = { (reply) throws(RedisSharedStateError) in answer = try read(reply) }
    while true {
      // The deadline is checked even when data arrives: a server that keeps sending must not extend it.
      guard Instant.now < deadline, try stream.receive(until: deadline, handle) else {
        throw .timedOut(operation: String(decoding: command.first ?? Data(), as: UTF8.self))
      }
      if let answer { return answer }
    }
  }

  /// Adds a command, which the next wait for a reply sends.
  func send(_ command: [Data]) {
    stream.formatter.add { encoded in
      for argument in command { argument.withUnsafeBytes { encoded.argument($0) } }
    }
  }
}
