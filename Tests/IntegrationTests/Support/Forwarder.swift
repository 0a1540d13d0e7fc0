import Foundation
import Synchronization

/// A port of 127.0.0.1 that forwards to another port: a network that a test can disturb.
final class Forwarder: Sendable {
  private struct State {
    var target: UInt16
    var routes: [Route] = []
    /// Nothing is forwarded, in either direction, on connections whose first bytes contain this text.
    var silent: String?
  }

  let port: UInt16
  private let listener: Int32
  private let state: Mutex<State>
  /// How much later each byte arrives, in either direction.
  private let delay: Duration

  init(to target: UInt16, delay: Duration = .zero) throws {
    self.delay = delay
    state = Mutex(State(target: target))
    listener = Self.makeSocket()
    var address = Self.address(port: 0)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening = withUnsafeMutableBytes(of: &address) { [listener] bytes in
      let address = bytes.assumingMemoryBound(to: sockaddr.self).baseAddress
      return bind(listener, address, length) == 0 && listen(listener, 64) == 0
        && getsockname(listener, address, &length) == 0
    }
    guard isListening else { throw CocoaError(.featureUnsupported) }
    port = UInt16(bigEndian: address.sin_port)
    Thread { [weak self, listener] in
      while case let client = accept(listener, nil, nil), client >= 0 { self?.connect(client) }
      close(listener)
    }.start()
  }

  deinit {
    shutdown(listener, Int32(SHUT_RDWR))
    cut()
  }

  /// Forwards new connections to another port; open connections stay where they are.
  func forward(to target: UInt16) {
    state.withLock { $0.target = target }
  }

  /// Breaks all connections.
  func cut() {
    let routes = state.withLock { state in
      defer { state.routes = [] }
      return state.routes
    }
    for route in routes { route.end() }
  }

  /// Stops forwarding, without closing a connection.
  ///
  /// - Parameter text: Limits this to connections whose first bytes contain it.
  func goSilent(about text: String = "") {
    state.withLock { state in
      state.silent = text
      for route in state.routes where route.concerns(text) { route.isSilent = true }
    }
  }

  func speak() {
    state.withLock { state in
      state.silent = nil
      for route in state.routes { route.isSilent = false }
    }
  }

  private func connect(_ client: Int32) {
    let server = Self.makeSocket()
    var address = Self.address(port: state.withLock { $0.target })
    let isConnected = withUnsafeBytes(of: &address) { bytes in
      let address = bytes.assumingMemoryBound(to: sockaddr.self).baseAddress
      return Glibc.connect(server, address, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
    }
    guard isConnected else {
      close(client)
      close(server)
      return
    }
    let route = Route(client: client, server: server, delay: delay) { [weak self] route in
      guard let silent = self?.state.withLock({ $0.silent }), route.concerns(silent) else { return }
      route.isSilent = true
    }
    state.withLock { $0.routes.append(route) }
    route.start()
  }

  private static func makeSocket() -> Int32 {
    socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
  }

  private static func address(port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return address
  }
}
