/// Bytes of JSON text that grow at their end.
///
/// A class with memory of its own, because an array would be checked for uniqueness at every byte.
final class TextBuffer {
  @exclusivity(unchecked) private var start: UnsafeMutablePointer<UInt8>
  @exclusivity(unchecked) private(set) var count = 0
  @exclusivity(unchecked) private var capacity: Int

  init(capacity: Int = 512) {
    self.capacity = capacity
    start = .allocate(capacity: capacity)
  }

  deinit { start.deallocate() }

  /// Calls the closure with all bytes, or with those from an index on.
  @inline(__always)
  func withBytes<Result>(from first: Int = 0, _ body: (UnsafeBufferPointer<UInt8>) throws -> Result) rethrows -> Result
  {
    try withExtendedLifetime(self) {
      try body(UnsafeBufferPointer(start: start + first, count: count - first))
    }
  }

  /// Removes all but the first bytes.
  func truncate(to count: Int) {
    precondition(count <= self.count, "A buffer gets shorter when it is truncated.")
    self.count = count
  }

  /// Exchanges the bytes with those of another one.
  func swap(with other: TextBuffer) {
    Swift.swap(&start, &other.start)
    Swift.swap(&count, &other.count)
    Swift.swap(&capacity, &other.capacity)
  }

  /// Makes room for this many more bytes. ``commit(_:)`` counts those that were written.
  @inline(__always)
  func room(_ size: Int) -> UnsafeMutablePointer<UInt8> {
    if capacity - count < size { grow(by: size) }
    return start + count
  }

  /// Counts bytes that were written into the room.
  @inline(__always)
  func commit(_ size: Int) {
    count += size
  }

  @inline(never)
  private func grow(by size: Int) {
    capacity = max(2 * capacity, count + size)
    let grown = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
    grown.update(from: start, count: count)
    start.deallocate()
    start = grown
  }

  // MARK: Text

  @inline(__always)
  func append(_ byte: UInt8) {
    room(1).pointee = byte
    commit(1)
  }

  func append(_ bytes: UnsafeBufferPointer<UInt8>) {
    guard let source = bytes.baseAddress else { return }
    room(bytes.count).update(from: source, count: bytes.count)
    commit(bytes.count)
  }

  func append(_ literal: StaticString) {
    append(UnsafeBufferPointer(start: literal.utf8Start, count: literal.utf8CodeUnitCount))
  }

  /// Appends text as it is, without quotes or escapes.
  func append(text: String) {
    var text = text
    text.withUTF8 { append($0) }
  }

  func append(_ number: some FixedWidthInteger) {
    if let small = Int64(exactly: number) {
      if small < 0 { append(UInt8(ascii: "-")) }
      append(digitsOf: small.magnitude)
    } else if let large = UInt64(exactly: number) {
      append(digitsOf: large)
    } else {
      append(text: number.description)
    }
  }

  private func append(digitsOf number: UInt64) {
    let place = room(20)
    var rest = number
    var size = 1
    while rest >= 10 {
      rest /= 10
      size += 1
    }
    rest = number
    var position = size
    while position > 0 {
      position -= 1
      let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10)
      place[position] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: digit)
      rest = quotient
    }
    commit(size)
  }

  /// Appends the shortest text that reads as this number again; it must be finite.
  func append(_ number: some BinaryFloatingPoint & LosslessStringConvertible) {
    // The description of a larger `Float` has an exponent.
    if let integer = Int32(exactly: number), integer != 0, integer.magnitude < 1 << 24 {
      append(integer)
    } else {
      var text = number.description
      if text.hasSuffix(".0") { text.removeLast(2) }
      append(text: text)
    }
  }
}
