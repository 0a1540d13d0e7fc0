import Foundation
import SharedStateRedis
import Synchronization

/// A server on a Unix socket that sends whatever a test wants. Each connection has its own thread.
final class HostileServer: Sendable {
  let url: String
  private let directory: URL
  private let listener: Int32
  private let clients: Clients

  /// - Parameter serve: Serves one connection, which is closed when the closure returns.
  init(_ serve: @escaping @Sendable (Client) -> Void) throws {
    directory = FileManager.default.temporaryDirectory.appending(path: "hostile-\(UUID().uuidString.prefix(8))")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    let path = directory.appending(path: "socket").path
    url = "unix://\(path)"
    let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    let clients = Clients()
    (self.listener, self.clients) = (listener, clients)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let isListening = withUnsafeBytes(of: &address) { bytes in
      let address = bytes.assumingMemoryBound(to: sockaddr.self).baseAddress
      return bind(listener, address, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0 && listen(listener, 64) == 0
    }
    guard isListening else { throw CocoaError(.featureUnsupported) }
    Thread {
      while case let descriptor = accept(listener, nil, nil), descriptor >= 0 {
        clients.add(descriptor)
        Thread {
          serve(Client(descriptor: descriptor))
          clients.close(descriptor)
        }.start()
      }
      close(listener)
    }.start()
  }

  deinit {
    shutdown(listener, Int32(SHUT_RDWR))
    clients.hangUp()
    try? FileManager.default.removeItem(at: directory)
  }

  /// The connections that are open.
  private final class Clients: Sendable {
    private let descriptors = Mutex<Set<Int32>>([])

    func add(_ descriptor: Int32) {
      _ = descriptors.withLock { $0.insert(descriptor) }
    }

    func close(_ descriptor: Int32) {
      _ = descriptors.withLock { $0.remove(descriptor) }
      Glibc.close(descriptor)
    }

    func hangUp() {
      // Under the lock, so that no descriptor has been closed and reused meanwhile.
      descriptors.withLock { for descriptor in $0 { shutdown(descriptor, Int32(SHUT_RDWR)) } }
    }
  }

  /// One connection, seen from the server.
  struct Client: Sendable {
    let descriptor: Int32

    /// Sends a text, and waits until the socket has taken it. Returns `false` if the other side has hung up.
    @discardableResult
    func say(_ text: String) -> Bool {
      var rest = ArraySlice(text.utf8)
      while !rest.isEmpty {
        let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        guard count > 0 else { return false }
        rest.removeFirst(count)
      }
      return true
    }

    /// Waits for data, and returns all that has arrived. The result is empty if the other side has hung up.
    func heard() -> String {
      var buffer = [UInt8](repeating: 0, count: 65_536)
      let count = recv(descriptor, &buffer, buffer.count, 0)
      return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
    }

    /// Waits until the received data contains this text. Returns `false` if the other side hangs up before.
    func hears(_ text: String) -> Bool {
      var all = ""
      while !all.contains(text) {
        let heard = heard()
        if heard.isEmpty { return false }
        all += heard
      }
      return true
    }

    /// Sends a byte again and again, with pauses, for about ten seconds.
    func drip(_ byte: Character) {
      for _ in 0..<2_000 {
        guard say(String(byte)) else { return }
        Thread.sleep(forTimeInterval: 0.005)
      }
    }

    /// Answers the handshake like a server that knows none of its commands; the library can do without them.
    ///
    /// - Returns: The purpose of the connection, or `nil` if the other side has hung up.
    func shakeHands() -> ConnectionPurpose? {
      var all = ""
      while true {
        let heard = heard()
        if heard.isEmpty { return nil }
        all += heard
        for (purpose, commands) in [(ConnectionPurpose.writer, 9), (.subscriber, 3)]
        where all.contains(":\(purpose.rawValue)\r\n") {
          say(String(repeating: "-ERR unknown command\r\n", count: commands))
          return purpose
        }
      }
    }
  }
}
