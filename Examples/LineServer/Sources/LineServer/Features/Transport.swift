package import SharedStateDependencies

/// The number of a connection. No number is used twice while the server runs.
package typealias ConnectionID = UInt64

/// The functions of the sockets for the features. Neither of them waits.
package struct Transport: TestDependencyKey, Sendable {
  package var send: @Sendable (ConnectionID, String) -> Void
  /// Closes a connection once all earlier output was sent.
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
