import SharedState
import SharedStateDependencies

/// One reign of one primary. It ends when the server restarts, or when data of another server take the place of its
/// own.
///
/// All services derive the same era from what the server reports: see ``VitalsParser``. If a service may not ask for
/// that, each of its sessions counts as an era of its own.
struct Era: Hashable, Sendable, CustomStringConvertible {
  fileprivate let number: UInt32

  init(_ number: UInt32) {
    self.number = number
  }

  /// The era of a replica, or of a server that does not name its run: that of its history.
  init(of history: ReplicationID) {
    self.init(history.number)
  }

  /// - Parameter origin: Where the data of this run come from.
  init(run: String, origin: String) {
    self.init(UInt32(truncatingIfNeeded: FNV1a.hash(of: "\(run) \(origin)")))
  }

  /// The next era, for a server that counts its reigns.
  var next: Era { Era(number &+ 1) }

  var description: String { UInt64(number).hexadecimal(digits: 8) }
}

/// Names a line of history. It is derived from the operation that opened the line and from the era, so no other line
/// has it.
struct LineID: Hashable, Sendable, CustomStringConvertible {
  private let number: UInt64

  init(_ number: UInt64) {
    self.number = number
  }

  /// The line that an operation opens in an era. The era matters because the operation may be sent to two servers, and
  /// both may apply it.
  ///
  /// A writer's nonce is random, and so is its FNV-1a hash.
  ///
  /// - Parameter attempt: How often the operation was sent before, each time with another line.
  init(openedBy operation: Operation, in era: Era, attempt: Int = 0) {
    let sending = operation.number &+ UInt64(attempt) << 48
    var mixer = SplitMix64(seed: FNV1a.hash(of: operation.writer) &+ sending &* 0x9E37_79B9_7F4A_7C15)
    mixer = SplitMix64(seed: mixer.next() ^ UInt64(era.number))
    number = mixer.next()
  }

  var description: String { number.hexadecimal() }
}
