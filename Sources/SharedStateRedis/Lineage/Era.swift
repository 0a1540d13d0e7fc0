import SharedStateDependencies

/// One reign of one primary: it ends when the server restarts, or when another one takes its place.
///
/// A server names it itself, by the first 8 digits of its replication id. Where a service may not ask for that, each of
/// its sessions counts as an era of its own.
package struct Era: Hashable, Sendable, CustomStringConvertible {
  fileprivate let number: UInt32

  package init(_ number: UInt32) {
    self.number = number
  }

  /// Reads a replication id; `nil` when it has another form.
  package init?(replicationID: String) {
    let digits = replicationID.prefix(8)
    guard digits.utf8.count == 8, let number = UInt32(digits, radix: 16) else { return nil }
    self.number = number
  }

  /// Another one, for a server that counts its reigns.
  var next: Era { Era(number &+ 1) }

  package var description: String { hexadecimal(UInt64(number), digits: 8) }
}

/// Names a line of history: made of the operation that opened it and of the era, so that no other one has it.
package struct LineID: Hashable, Sendable, CustomStringConvertible {
  private let number: UInt64

  package init(_ number: UInt64) {
    self.number = number
  }

  /// The line that an operation opens in an era: it may be sent to two servers, and both may do it.
  ///
  /// A writer's nonce is random, and so is what FNV-1a makes of it.
  package init(openedBy operation: Operation, in era: Era) {
    var mixer = SplitMix64(seed: FNV1a.hash(of: operation.writer) &+ operation.number &* 0x9E37_79B9_7F4A_7C15)
    mixer = SplitMix64(seed: mixer.next() ^ UInt64(era.number))
    number = mixer.next()
  }

  package var description: String { hexadecimal(number, digits: 16) }
}

private func hexadecimal(_ number: UInt64, digits: Int) -> String {
  String(unsafeUninitializedCapacity: digits) { buffer in
    for place in 0..<digits {
      let digit = UInt8(truncatingIfNeeded: number >> UInt64(4 * (digits - 1 - place))) & 0xF
      buffer[place] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
    }
    return digits
  }
}
