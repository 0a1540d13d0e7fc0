@testable import SharedStateRedis

/// One connection with delays: requests that have not reached the server yet, and events that have not arrived yet.
final class SimulatedConnection {
  let id: Int
  /// The number of the server that it leads to.
  let server: Int
  let purpose: ConnectionPurpose
  let service: SimulatedService
  /// The facts that the server reported while the connection was opened.
  let facts: ServerFacts
  var outbox: [RedisRequest] = []
  /// The operations that the requests carry.
  private(set) var operations: [UInt64: UInt64] = [:]
  var inbox: [RedisEvent] = []
  var isBroken = false
  /// Whether the service has given up the connection, while the server still has to carry out its requests.
  var isLate = false
  /// Whether the connection breaks right before the next commit, or between the commit and its reply.
  var breaksAtCommit = false
  /// Whether the connection silently transports nothing any more.
  var isStalled = false

  init(id: Int, server: Int, purpose: ConnectionPurpose, service: SimulatedService, facts: ServerFacts) {
    self.facts = facts
    self.id = id
    self.server = server
    self.purpose = purpose
    self.service = service
  }

  func append(_ requests: [RedisRequest]) {
    outbox += requests
    for request in requests {
      if case .commit(let commit) = request.command { operations[request.id] = commit.operation.number }
    }
  }

  /// Whether events have arrived, or the connection is down.
  var hasArrivals: Bool { !isStalled && (!inbox.isEmpty || isBroken) }

  /// Whether a commit is on its way to the server.
  var isAboutToCommit: Bool {
    outbox.contains { if case .commit = $0.command { true } else { false } }
  }

  /// The indices of the messages in the inbox.
  var messages: [Int] {
    inbox.indices.filter { if case .message = inbox[$0] { true } else { false } }
  }
}
