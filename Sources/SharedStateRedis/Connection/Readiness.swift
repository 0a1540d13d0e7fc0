/// What a ``Transport`` is ready for.
package struct Readiness: OptionSet, Sendable {
  /// One bit for each thing.
  package let rawValue: UInt8

  /// Makes a set of its bits.
  package init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  /// Bytes, or the end, can be read.
  package static let readable = Readiness(rawValue: 1)
  /// Bytes can be written.
  package static let writable = Readiness(rawValue: 2)
  /// Somebody woke the waker.
  package static let woken = Readiness(rawValue: 4)
}
