import CEpoll
import Glibc
import Synchronization

/// An event on a socket.
package enum SocketEvent: Sendable {
  case accepted(ConnectionID)
  case received(ConnectionID, line: String)
  case closed(ConnectionID)
}

/// The sockets of a server. One thread owns them; other threads pass commands to it.
package final class EventLoop: Sendable {
  private enum Order {
    case send(ConnectionID, String)
    case close(ConnectionID)
    case stop
  }

  private struct Socket {
    let descriptor: Int32
    var input = LineBuffer()
    var output: [UInt8] = []
    /// Closed once the output was sent.
    var isClosing = false
  }

  /// The output that may wait for a client. A client that does not read is disconnected.
  private static let mostOutput = 65_536
  private static let listenerID = ConnectionID.max
  private static let wakeUpID = ConnectionID.max - 1

  /// The port, on the loopback interface.
  package let port: UInt16

  private let listener: Int32
  private let wakeUp: Int32
  private let poll: Int32
  private let orders = Mutex<[Order]>([])

  /// - Parameter port: The port to listen on; 0 for a free one.
  /// - Throws: `SocketError`.
  package init(port: UInt16 = 0) throws {
    // Writing to a client that has gone should result in an error, not in a signal.
    signal(SIGPIPE, SIG_IGN)
    listener = try checked("socket", socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0))
    wakeUp = try checked("eventfd", eventfd(0, Int32(EFD_NONBLOCK)))
    poll = try checked("epoll_create1", epoll_create1(0))
    var yes: Int32 = 1
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let descriptor = listener
    self.port = try withUnsafeMutablePointer(to: &address) { address in
      try address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        try checked("bind", bind(descriptor, address, length))
        try checked("listen", listen(descriptor, 4_096))
        try checked("getsockname", getsockname(descriptor, address, &length))
      }
      return UInt16(bigEndian: address.pointee.sin_port)
    }
    try watch(listener, as: Self.listenerID)
    try watch(wakeUp, as: Self.wakeUpID)
  }

  deinit {
    for descriptor in [listener, wakeUp, poll] { close(descriptor) }
  }

  /// The functions for the features of this server.
  package var transport: Transport {
    Transport(
      send: { [weak self] id, text in self?.order(.send(id, text)) },
      close: { [weak self] id in self?.order(.close(id)) }
    )
  }

  /// Ends `run`.
  package func stop() { order(.stop) }

  /// Serves on this thread until it is stopped.
  ///
  /// - Parameter handle: Called on this thread.
  /// - Throws: `SocketError`, when waiting for events fails.
  package func run(_ handle: (SocketEvent) -> Void) throws {
    var sockets: [ConnectionID: Socket] = [:]
    var nextID: ConnectionID = 0
    var events = [epoll_event](repeating: epoll_event(), count: 256)
    var input = [UInt8](repeating: 0, count: 65_536)
    defer { for socket in sockets.values { close(socket.descriptor) } }

    func disconnect(_ id: ConnectionID) {
      guard let socket = sockets.removeValue(forKey: id) else { return }
      close(socket.descriptor)
      handle(.closed(id))
    }

    func flush(_ id: ConnectionID) {
      guard var socket = sockets[id] else { return }
      sockets[id] = nil
      let wasWaiting = socket.output.count
      while !socket.output.isEmpty {
        let count = send(socket.descriptor, socket.output, socket.output.count, 0)
        if count < 0, errno == EINTR { continue }
        guard count >= 0 else { break }
        socket.output.removeFirst(count)
      }
      let isBroken = !socket.output.isEmpty && errno != EAGAIN
      let isTooSlow = socket.output.count > Self.mostOutput
      if !socket.output.isEmpty || wasWaiting > 0 {
        try? watch(socket.descriptor, as: id, writing: !socket.output.isEmpty, isNew: false)
      }
      let isDone = socket.isClosing && socket.output.isEmpty
      sockets[id] = socket
      if isBroken || isTooSlow || isDone { disconnect(id) }
    }

    func receive(_ id: ConnectionID) {
      guard let descriptor = sockets[id]?.descriptor else { return }
      let count = recv(descriptor, &input, input.count, 0)
      if count < 0, errno == EAGAIN || errno == EINTR { return }
      guard count > 0, let lines = sockets[id]?.input.lines(with: input[..<count]) else { return disconnect(id) }
      for line in lines { handle(.received(id, line: line)) }
    }

    func acceptAll() {
      while true {
        let descriptor = accept(listener, nil, nil)
        if descriptor < 0, errno == EINTR { continue }
        guard descriptor >= 0 else { return }
        let isWatched = fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0 && (try? watch(descriptor, as: nextID)) != nil
        guard isWatched else { close(descriptor); continue }
        sockets[nextID] = Socket(descriptor: descriptor)
        handle(.accepted(nextID))
        nextID += 1
      }
    }

    while true {
      let count = epoll_wait(poll, &events, Int32(events.count), -1)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw SocketError("epoll_wait") }
      for event in events[..<Int(count)] {
        switch event.data.u64 {
        case Self.listenerID:
          acceptAll()
        case Self.wakeUpID:
          var number: UInt64 = 0
          read(wakeUp, &number, MemoryLayout<UInt64>.size)
        case let id:
          if event.events & EPOLLOUT.rawValue != 0 { flush(id) }
          if event.events & ~EPOLLOUT.rawValue != 0 { receive(id) }
        }
      }
      for order in takeOrders() {
        switch order {
        case .send(let id, let text):
          sockets[id]?.output += Array(text.utf8)
          flush(id)
        case .close(let id):
          sockets[id]?.isClosing = true
          flush(id)
        case .stop:
          return
        }
      }
    }
  }

  private func order(_ order: Order) {
    let isFirst = orders.withLock { orders in
      orders.append(order)
      return orders.count == 1
    }
    guard isFirst else { return }
    var one: UInt64 = 1
    write(wakeUp, &one, MemoryLayout<UInt64>.size)
  }

  private func takeOrders() -> [Order] {
    orders.withLock { orders in
      defer { orders = [] }
      return orders
    }
  }

  private func watch(_ descriptor: Int32, as id: ConnectionID, writing: Bool = false, isNew: Bool = true) throws {
    var event = epoll_event()
    event.events = EPOLLIN.rawValue | (writing ? EPOLLOUT.rawValue : 0)
    event.data.u64 = id
    try checked("epoll_ctl", epoll_ctl(poll, isNew ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, descriptor, &event))
  }
}

@discardableResult
private func checked(_ call: String, _ result: Int32) throws -> Int32 {
  if result < 0 { throw SocketError(call) }
  return result
}
