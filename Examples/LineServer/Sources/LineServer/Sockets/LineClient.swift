import Glibc

/// A client that waits for its answers, at most ten seconds each.
package final class LineClient {
  private let descriptor: Int32
  private var rest: [UInt8] = []

  /// - Throws: `SocketError`.
  package init(port: UInt16) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    if descriptor < 0 { throw SocketError("socket") }
    var patience = timeval(tv_sec: 10, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let descriptor = descriptor
    let result = withUnsafePointer(to: &address) { address in
      address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        connect(descriptor, address, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    if result < 0 { throw SocketError("connect") }
  }

  deinit { close(descriptor) }

  /// - Throws: `SocketError`.
  package func say(_ text: String) throws {
    let bytes = Array((text + "\n").utf8)
    if send(descriptor, bytes, bytes.count, 0) != bytes.count { throw SocketError("send") }
  }

  /// The next line; `nil` when the server has closed the connection.
  ///
  /// - Throws: `SocketError`, when no line arrives in time.
  package func hear() throws -> String? {
    var buffer = [UInt8](repeating: 0, count: 4_096)
    while true {
      if let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
        defer { rest.removeSubrange(...end) }
        return String(decoding: rest[..<end], as: UTF8.self)
      }
      let count = recv(descriptor, &buffer, buffer.count, 0)
      if count == 0 { return nil }
      if count < 0, errno == EINTR { continue }
      if count < 0 { throw SocketError("recv") }
      rest += buffer[..<count]
    }
  }
}
