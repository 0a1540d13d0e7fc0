import Foundation
import SharedStateRedis
import Synchronization

/// One connection of a ``Forwarder``: two threads that copy, one in each direction, and two more if it is slow.
final class Route: Sendable {
  private struct State {
    var opening = ""
    var isSilent = false
    var hasEnded = false
    var running: Int
  }

  private let client: Int32
  private let server: Int32
  private let onOpening: @Sendable (Route) -> Void
  private let state: Mutex<State>
  private let changed = NSCondition()
  private let delay: Duration

  /// - Parameters:
  ///   - delay: How much later each byte is forwarded.
  ///   - onOpening: Called when the first bytes of the client have arrived, before they are forwarded.
  init(client: Int32, server: Int32, delay: Duration, onOpening: @escaping @Sendable (Route) -> Void) {
    self.client = client
    self.server = server
    self.delay = delay
    self.onOpening = onOpening
    state = Mutex(State(running: delay > .zero ? 4 : 2))
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
    let late = delay > .zero ? LateBytes() : nil
    if let late {
      Thread {
        while let bytes = late.next() {
          guard self.forward(bytes[...], to: destination) else { break }
        }
        self.endCopying()
      }.start()
    }
    var buffer = [UInt8](repeating: 0, count: 65_536)
    var isOpening = isClient
    while case let count = recv(source, &buffer, buffer.count, 0), count > 0 {
      if isOpening {
        isOpening = false
        let opening = String(decoding: buffer[..<count], as: UTF8.self)
        state.withLock { $0.opening = opening }
        onOpening(self)
      }
      if let late {
        late.append(Array(buffer[..<count]), at: .now + delay)
      } else {
        guard forward(buffer[..<count], to: destination) else { break }
      }
    }
    late?.end()
    endCopying()
  }

  /// Sends bytes, once the route is not silent; `false`: the connection has ended.
  private func forward(_ bytes: ArraySlice<UInt8>, to destination: Int32) -> Bool {
    waitWhileSilent()
    var left = bytes
    while !left.isEmpty {
      let written = left.withUnsafeBytes { send(destination, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard written > 0 else { return false }
      left = left.dropFirst(written)
    }
    return true
  }

  /// One of the threads has nothing to copy any more.
  private func endCopying() {
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

/// Bytes on their way through a slow network.
private final class LateBytes: @unchecked Sendable {
  // `changed` guards both.
  private var chunks: [(bytes: [UInt8], due: Instant)] = []
  private var hasEnded = false
  private let changed = NSCondition()

  func append(_ bytes: [UInt8], at due: Instant) {
    changed.withLock {
      chunks.append((bytes, due))
      changed.signal()
    }
  }

  func end() {
    changed.withLock {
      hasEnded = true
      changed.signal()
    }
  }

  /// Waits for the next bytes to arrive; `nil`: the connection has ended.
  func next() -> [UInt8]? {
    changed.withLock {
      while !hasEnded {
        guard let first = chunks.first else {
          changed.wait()
          continue
        }
        let left = first.due - .now
        if left <= .zero { return chunks.removeFirst().bytes }
        _ = changed.wait(until: Date.now + left / .seconds(1))
      }
      return nil
    }
  }
}
