import Foundation
import Synchronization

/// One connection of a ``Forwarder``: two threads that copy, one in each direction.
final class Route: Sendable {
  private struct State {
    var opening = ""
    var isSilent = false
    var hasEnded = false
    var running = 2
  }

  private let client: Int32
  private let server: Int32
  private let onOpening: @Sendable (Route) -> Void
  private let state = Mutex(State())
  private let changed = NSCondition()

  /// - Parameter onOpening: Called when the first bytes of the client have arrived, before they are forwarded.
  init(client: Int32, server: Int32, onOpening: @escaping @Sendable (Route) -> Void) {
    self.client = client
    self.server = server
    self.onOpening = onOpening
  }

  func start() {
    Thread { self.copy(from: self.client, to: self.server, isClient: true) }.start()
    Thread { self.copy(from: self.server, to: self.client, isClient: false) }.start()
  }

  /// Whether the client's first bytes contain a text.
  func concerns(_ text: String) -> Bool {
    text.isEmpty || state.withLock { $0.opening.contains(text) }
  }

  var isSilent: Bool {
    get { state.withLock { $0.isSilent } }
    set {
      state.withLock { $0.isSilent = newValue }
      tell()
    }
  }

  func end() {
    state.withLock { state in
      state.hasEnded = true
      // Once both threads have ended, the descriptors may belong to another file.
      guard state.running > 0 else { return }
      shutdown(client, Int32(SHUT_RDWR))
      shutdown(server, Int32(SHUT_RDWR))
    }
    tell()
  }

  private func tell() {
    changed.lock()
    changed.broadcast()
    changed.unlock()
  }

  private func copy(from source: Int32, to destination: Int32, isClient: Bool) {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    var isOpening = isClient
    while case let count = recv(source, &buffer, buffer.count, 0), count > 0 {
      if isOpening {
        isOpening = false
        let opening = String(decoding: buffer[..<count], as: UTF8.self)
        state.withLock { $0.opening = opening }
        onOpening(self)
      }
      waitWhileSilent()
      var sent = 0
      while sent < count {
        let written = buffer.withUnsafeBytes { bytes in
          send(destination, bytes.baseAddress?.advanced(by: sent), count - sent, Int32(MSG_NOSIGNAL))
        }
        guard written > 0 else { break }
        sent += written
      }
      if sent < count { break }
    }
    end()
    state.withLock { state in
      state.running -= 1
      guard state.running == 0 else { return }
      close(client)
      close(server)
    }
  }

  private func waitWhileSilent() {
    changed.lock()
    while state.withLock({ $0.isSilent && !$0.hasEnded }) { changed.wait() }
    changed.unlock()
  }
}
