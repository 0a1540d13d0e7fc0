import Synchronization

/// The number of a line, set by code on that line.
final class LineNumber: Sendable {
  private let number = Mutex<UInt>(0)

  var value: UInt { number.withLock { $0 } }

  func set(_ line: UInt) {
    number.withLock { $0 = line }
  }
}
