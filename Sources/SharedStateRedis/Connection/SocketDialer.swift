import Glibc

/// Opens sockets.
struct SocketDialer: Dialer {
  /// How long a TCP connection may be without traffic before the kernel sends a keep-alive probe; rounded down to
  /// seconds.
  var keepAlive = Duration.seconds(10)
  /// How long sent bytes may stay unacknowledged before the kernel gives up a TCP connection; rounded down to
  /// milliseconds.
  var acknowledgementTimeout = Duration.seconds(15)
  /// The call of the system.
  var lookUp: LookUp = { getaddrinfo($0, $1, $2, $3) }

  /// Looks up the addresses of a host.
  typealias LookUp =
    @Sendable (
      _ host: String,
      _ port: String,
      _ hints: UnsafePointer<addrinfo>,
      _ list: UnsafeMutablePointer<UnsafeMutablePointer<addrinfo>?>
    ) -> CInt

  /// Connects, trying every address of the host in turn.
  /// - Throws: ``RedisSharedStateError/Code/unreachable``, ``RedisSharedStateError/Code/timedOut``.
  func dial(
    _ endpoint: RedisEndpoint,
    until deadline: inout Instant
  ) throws(RedisSharedStateError) -> any Transport {
    switch endpoint {
    case .tcp(let host, let port): try dial(host: host, port: port, until: &deadline)
    case .unix(let path): try dial(path: path, until: deadline)
    }
  }

  private func dial(
    host: String,
    port: UInt16,
    until deadline: inout Instant
  ) throws(RedisSharedStateError) -> SocketTransport {
    var hints = addrinfo()
    hints.ai_family = AF_UNSPEC
    hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
    hints.ai_flags = AI_NUMERICSERV
    var list: UnsafeMutablePointer<addrinfo>?
    let began = Instant.now
    let result = lookUp(host, String(port), &hints, &list)
    deadline = deadline + (.now - began)
    guard result != EAI_SYSTEM else { throw Self.unreachable(errno) }
    guard result == 0 else { throw .unreachable(reason: String(cString: gai_strerror(result))) }
    defer { freeaddrinfo(list) }

    let addresses = Array(sequence(first: list, next: { $0?.pointee.ai_next }).prefix { $0 != nil }.compactMap(\.self))
    var failure = RedisSharedStateError.unreachable(reason: "the host has no address")
    for (index, address) in addresses.enumerated() {
      do {
        return try dial(address.pointee, until: deadline.share(of: addresses.count - index))
      } catch {
        failure = error
      }
    }
    throw failure
  }

  private func dial(
    _ address: addrinfo,
    until deadline: Instant
  ) throws(RedisSharedStateError) -> SocketTransport {
    let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    let transport = SocketTransport(descriptor: try Self.descriptor(socket(address.ai_family, type, 0)))
    setOptions(of: transport.descriptor)
    if connect(transport.descriptor, address.ai_addr, address.ai_addrlen) != 0 {
      guard errno == EINPROGRESS || errno == EINTR else { throw Self.unreachable(errno) }
      guard try !transport.wait(for: .writable, until: deadline).isEmpty else {
        throw .timedOut(operation: "connecting")
      }
      var code: CInt = 0
      var length = socklen_t(MemoryLayout<CInt>.size)
      getsockopt(transport.descriptor, SOL_SOCKET, SO_ERROR, &code, &length)
      guard code == 0 else { throw Self.unreachable(code) }
    }
    guard !Self.isConnectedToItself(transport.descriptor) else { throw Self.unreachable(ECONNREFUSED) }
    return transport
  }

  private func dial(
    path: String,
    until deadline: Instant
  ) throws(RedisSharedStateError) -> SocketTransport {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    guard path.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else {
      throw .unreachable(reason: "the path of the socket is too long")
    }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }

    // A non-blocking connect to a full queue fails immediately and cannot be polled for, so the kernel waits, with a
    // limit.
    let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    let transport = SocketTransport(descriptor: try Self.descriptor(socket(AF_UNIX, type, 0)))
    let descriptor = transport.descriptor
    var code: CInt
    repeat {
      // A limit of zero would mean no limit.
      let milliseconds = Int(max(1, deadline.pollTimeout()))
      Self.set(
        SOL_SOCKET,
        SO_SNDTIMEO,
        timeval(tv_sec: milliseconds / 1_000, tv_usec: milliseconds % 1_000 * 1_000),
        of: descriptor
      )
      let result = withUnsafeBytes(of: &address) { bytes in
        connect(
          descriptor,
          bytes.assumingMemoryBound(to: sockaddr.self).baseAddress,
          socklen_t(MemoryLayout<sockaddr_un>.size)
        )
      }
      code = result == 0 ? 0 : errno
    } while code == EINTR
    if code == EAGAIN { throw .timedOut(operation: "connecting") }
    guard code == 0 else { throw Self.unreachable(code) }
    guard fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK) == 0 else {
      throw Self.unreachable(errno)
    }
    return transport
  }

  private func setOptions(of descriptor: CInt) {
    let seconds = CInt(clamping: max(1, keepAlive.components.seconds))
    let acknowledgement = acknowledgementTimeout.components
    let milliseconds = acknowledgement.seconds.multipliedReportingOverflow(by: 1_000).partialValue
    Self.set(CInt(IPPROTO_TCP), TCP_NODELAY, CInt(1), of: descriptor)
    Self.set(SOL_SOCKET, SO_KEEPALIVE, CInt(1), of: descriptor)
    Self.set(CInt(IPPROTO_TCP), TCP_KEEPIDLE, min(seconds, 32_767), of: descriptor)
    Self.set(CInt(IPPROTO_TCP), TCP_KEEPINTVL, min(max(1, seconds / 3), 32_767), of: descriptor)
    Self.set(CInt(IPPROTO_TCP), TCP_KEEPCNT, CInt(3), of: descriptor)
    Self.set(CInt(IPPROTO_TCP), TCP_USER_TIMEOUT, CUnsignedInt(clamping: max(1_000, milliseconds)), of: descriptor)
  }

  /// Sets an option. A kernel that does not know it can be used nevertheless.
  private static func set<Value: BitwiseCopyable>(_ level: CInt, _ option: CInt, _ value: Value, of descriptor: CInt) {
    var value = value
    setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Value>.size))
  }

  /// A port without a listener may lie in the range that the system assigns to clients. A client can then be assigned
  /// the very port that it connects to, and is connected to itself.
  private static func isConnectedToItself(_ descriptor: CInt) -> Bool {
    var (own, other) = (sockaddr_storage(), sockaddr_storage())
    let length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    var (ownLength, otherLength) = (length, length)
    let succeeded = withUnsafeMutableBytes(of: &own) { own in
      withUnsafeMutableBytes(of: &other) { other in
        getsockname(descriptor, own.assumingMemoryBound(to: sockaddr.self).baseAddress, &ownLength) == 0
          && getpeername(descriptor, other.assumingMemoryBound(to: sockaddr.self).baseAddress, &otherLength) == 0
      }
    }
    guard succeeded, ownLength == otherLength else { return false }
    return withUnsafeBytes(of: &own) { own in
      withUnsafeBytes(of: &other) { other in
        own.prefix(Int(ownLength)).elementsEqual(other.prefix(Int(otherLength)))
      }
    }
  }

  private static func descriptor(_ result: CInt) throws(RedisSharedStateError) -> CInt {
    guard result >= 0 else { throw unreachable(errno) }
    return result
  }

  private static func unreachable(_ code: CInt) -> RedisSharedStateError {
    .unreachable(reason: SocketTransport.text(of: code))
  }
}
