import SharedState
@testable import SharedStateRedis
import SharedStateRedisTesting

/// A failover whose former primary was paused or cut off, does not know of its successor, and goes on.
///
/// Some services stay connected to the former primary, or connect to it anew, because their resolver is late. The others
/// use the new primary, which begins with a copy of the former one's data. Both accept commits, until the former primary
/// is demoted and its data is gone.
extension Simulation {
  /// Another server becomes a primary besides the present one.
  func tear() {
    other = (here, server)
    here += 1
    takeOver(with: any([server.keyspace] + recent) ?? server.keyspace)
    advance(by: .zero)
    note("  torn: server \(here) is a primary besides server \(here - 1)")
    for service in services where chance(2) { announceMove(to: service) }
  }

  /// The former primary is gone, if there is one.
  func mend() {
    guard other != nil else { return }
    other = nil
    note("  mended: only server \(here) is a primary")
    recordReplacement()
    for connection in connections where connection.server != here { cut(connection) }
    // The former primary never receives the late requests.
    for connection in connections where connection.server != here && connection.isLate { discard(connection) }
    endTurn()
  }

  /// Performs something at one of the servers, as if it was the only one. Does nothing if that server is gone.
  func visit(_ number: Int, _ body: () -> Void) {
    if number == here { return body() }
    guard number == other?.number else { return }
    turnAround()
    body()
    turnAround()
  }

  private func turnAround() {
    guard var next = other else { return }
    // The only reference to its data, which is not copied therefore.
    other = nil
    swap(&here, &next.number)
    swap(&server, &next.server)
    other = next
  }

  /// Returns the server that a pass of a service leads to. Asked for each connection, so that both lead to one server.
  func route(_ pass: UInt64, of service: SimulatedService) -> Int {
    if let route = service.route, route.pass == pass { return route.server }
    let server = other.flatMap { chance(3) ? $0.number : nil } ?? here
    // For the service, the other server takes the place of the one that it has used, as after any failover.
    if other != nil, let route = service.route, route.server != server { recordReplacement() }
    service.route = (pass, server)
    return server
  }
}
