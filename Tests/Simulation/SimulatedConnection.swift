@testable import SharedStateRedis

/// One connection with delays: what was sent and has not reached the server, what was answered and has not arrived.
final class SimulatedConnection {
  let id: Int
  let purpose: ConnectionPurpose
  let service: SimulatedService
  var outbox: [RedisRequest] = []
  /// Which operation each request carries.
  private(set) var operations: [UInt64: UInt64] = [:]
  var inbox: [RedisEvent] = []
  var isBroken = false
  /// Whether it is over for its service, while the server has still to carry out what was sent.
  var isLate = false
  /// Whether it breaks right before the next commit, or between that and its reply.
  var breaksAtCommit = false
  /// Whether nothing moves any more, without anybody being told.
  var isStalled = false

  init(id: Int, purpose: ConnectionPurpose, service: SimulatedService) {
    self.id = id
    self.purpose = purpose
    self.service = service
  }

  func append(_ requests: [RedisRequest]) {
    outbox += requests
    for request in requests {
      if case .commit(let commit) = request.command { operations[request.id] = commit.operation.number }
    }
  }

  /// Whether something has arrived.
  var hasArrivals: Bool { !isStalled && (!inbox.isEmpty || isBroken) }

  /// Whether a commit is on its way to the server.
  var isAboutToCommit: Bool {
    outbox.contains { if case .commit = $0.command { true } else { false } }
  }

  /// Where among what has arrived there is a message.
  var messages: [Int] {
    inbox.indices.filter { if case .message = inbox[$0] { true } else { false } }
  }
}
