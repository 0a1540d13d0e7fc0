import Foundation
@testable import RedisConnectionContract
import Glibc
@testable import SharedStateRedis

/// A client of the in-process server. The server carries requests out at once, so no test has to wait.
final class InProcessProbe {
  let waker = Waker()
  let connection: any RedisConnection
  let names = KeyNames(namespace: "app:", name: "config", database: 0)
  private let nonce: String
  private var lastRequest: UInt64 = 0

  init(_ server: InProcessRedis, _ purpose: ConnectionPurpose = .writer, client: String = "a") throws {
    connection = try InProcessConnector(server, client: client)
      .connect(purpose: purpose, waker: waker, deadline: .now + .seconds(10))
    nonce = "nonce-of-\(client)"
    if purpose == .subscriber {
      try send(.subscribe([names.channel]))
      _ = try events()
      waker.clear()
    }
  }

  /// Whether the connection was woken since it last received.
  var isWoken: Bool { waker.isWoken }

  func send(_ commands: RedisRequest.Command...) throws {
    try connection.send(
      commands.map { command in
        lastRequest += 1
        return RedisRequest(id: lastRequest, command: command)
      }
    )
  }

  func events() throws -> [RedisEvent] {
    let arrivals = connection.receive()
    if let failure = arrivals.failure { throw failure }
    return arrivals.events
  }

  /// Returns the numbers of the requests that were answered.
  func answered() throws -> [UInt64] {
    try events().compactMap { if case .reply(let id, _) = $0 { id } else { nil } }
  }

  func messages() throws -> [String] {
    try events().compactMap { event in
      if case .message(_, let payload) = event { String(decoding: payload, as: UTF8.self) } else { nil }
    }
  }

  func commit(_ text: String, number: UInt64 = 1, floor: Revision = .none) -> RedisRequest.Command {
    .commit(
      Commit(
        names: names,
        content: .document(Data(text.utf8), isLarge: false),
        condition: .unconditional,
        floor: floor,
        operation: Operation(writer: nonce, number: number),
        writer: "test/host/1/\(nonce)",
        secret: .sample
      )
    )
  }

  /// Sends one request, and returns its answer.
  func reply(to command: RedisRequest.Command) throws -> RedisReply? {
    try send(command)
    guard case .reply(lastRequest, let reply)? = try events().last else { return nil }
    return reply
  }

  func committed(_ command: RedisRequest.Command) throws -> (revision: Revision, parent: Revision)? {
    guard case .commit(.committed(let revision, let parent, nil))? = try reply(to: command) else { return nil }
    return (revision, parent)
  }
}

/// Returns the error that the closure throws, if any.
func failure(of body: () throws -> Void) -> RedisSharedStateError? {
  do {
    try body()
    return nil
  } catch {
    return error as? RedisSharedStateError
  }
}

extension RedisSharedStateError? {
  var isDisconnected: Bool { self?.code == .disconnected }
}
