package import SharedStateDependencies

/// Which connection, for as long as the server runs: no number is used twice.
package typealias ConnectionID = UInt64

/// What features ask of the sockets. Neither function waits.
package struct Transport: TestDependencyKey, Sendable {
  package var send: @Sendable (ConnectionID, String) -> Void
  /// Closes a connection when everything before was sent.
  package var close: @Sendable (ConnectionID) -> Void

  package init(
    send: @escaping @Sendable (ConnectionID, String) -> Void,
    close: @escaping @Sendable (ConnectionID) -> Void
  ) {
    self.send = send
    self.close = close
  }

  package static let testValue = Transport(send: { _, _ in }, close: { _ in })
}

extension DependencyValues {
  package var transport: Transport {
    get { self[Transport.self] }
    set { self[Transport.self] = newValue }
  }
}
