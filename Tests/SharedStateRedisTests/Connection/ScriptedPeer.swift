import Foundation
@testable import SharedStateRedis

/// The server's end of a connection, which sends what a test wants.
final class ScriptedPeer: Sendable {
  let descriptor: Int32
  private let ours: Int32

  init() {
    var ends: [Int32] = [-1, -1]
    precondition(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
    (descriptor, ours) = (ends[0], ends[1])
  }

  deinit {
    close(descriptor)
  }

  /// Makes the connection, which owns its end.
  func connection(_ purpose: ConnectionPurpose = .writer) -> HiredisConnection {
    _ = fcntl(ours, F_SETFL, fcntl(ours, F_GETFL) | O_NONBLOCK)
    return HiredisConnection(
      stream: RedisStream(transport: SocketTransport(descriptor: ours)),
      purpose: purpose,
      digests: ScriptDigests(commit: "digest", restore: "digest"),
      facts: ServerFacts()
    )
  }

  /// Sends a text, and waits until the socket has taken it.
  func say(_ text: String) {
    say(Data(text.utf8))
  }

  /// Sends bytes, and waits until the socket has taken them.
  func say(_ bytes: Data) {
    var rest = ArraySlice(bytes)
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard count > 0 else { return }
      rest.removeFirst(count)
    }
  }

  /// Waits for data, and returns all that has arrived.
  func heard() -> String {
    var buffer = [UInt8](repeating: 0, count: 1_048_576)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
  }

  /// Closes our end without reading what was sent.
  func hangUp() {
    shutdown(descriptor, Int32(SHUT_RDWR))
  }
}
