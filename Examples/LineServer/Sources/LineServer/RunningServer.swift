import Foundation
package import SharedStateStore

/// A server: its features and its sockets.
package final class RunningServer: Sendable {
  package let store: StoreOf<Server>
  package var port: UInt16 { loop.port }

  private let loop: EventLoop

  /// - Parameter port: The port to listen on; 0 for a free one.
  /// - Throws: `SocketError`.
  package init(port: UInt16 = 0) throws {
    let loop = try EventLoop(port: port)
    self.loop = loop
    store = Store(initialState: Server.State()) {
      Server()
    } withDependencies: {
      $0.transport = loop.transport
    }
  }

  /// Serves on this thread until it is stopped.
  ///
  /// - Throws: `SocketError`.
  package func run() throws {
    try loop.run { event in
      switch event {
      case .accepted(let id): store.send(.accepted(id))
      case .received(let id, let line): store.send(.connections(.element(id: id, action: .lineReceived(line))))
      case .closed(let id): store.send(.disconnected(id))
      }
    }
  }

  /// Serves on a thread of its own.
  package func start() {
    let thread = Thread { [self] in
      do { try run() } catch { fatalError("The server ended: \(error)") }
    }
    thread.name = "line-server"
    thread.start()
  }

  package func stop() { loop.stop() }
}
