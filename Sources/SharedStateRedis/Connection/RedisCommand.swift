internal import CHiredis
package import Foundation

/// A command under construction: its arguments, one after the other, in memory that is reused.
package struct RedisCommand: ~Copyable {
  /// The arguments, without separators.
  private var arguments = ByteBuffer()
  private var lengths: [Int] = []
  private var pointers: [UnsafePointer<CChar>?] = []
  /// A document that is not copied: its index among the arguments, and its bytes.
  private var document: (index: Int, data: Data)?

  /// Adds a word of the protocol.
  package mutating func argument(_ text: StaticString) {
    argument(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  /// Adds a text as UTF-8.
  package mutating func argument(_ text: String) {
    var text = text
    text.withUTF8 { argument(UnsafeRawBufferPointer($0)) }
  }

  /// Adds a number in decimal digits.
  package mutating func argument(_ number: UInt64) {
    withUnsafeTemporaryAllocation(byteCount: 20, alignment: 1) { digits in
      var first = digits.count
      var rest = number
      repeat {
        first -= 1
        digits[first] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
        rest /= 10
      } while rest > 0
      argument(UnsafeRawBufferPointer(rebasing: digits[first...]))
    }
  }

  /// Adds arbitrary bytes.
  package mutating func argument(_ bytes: UnsafeRawBufferPointer) {
    arguments.append(bytes)
    lengths.append(bytes.count)
  }

  /// Adds a large document without copying it; a command has at most one.
  package mutating func argument(_ data: Data) {
    precondition(document == nil, "A command has one document at the most.")
    document = (lengths.count, data)
    lengths.append(data.count)
  }

  /// Adds a small document, of which there may be many.
  package mutating func argument(copying data: Data) {
    data.withUnsafeBytes { argument($0) }
  }

  /// Encodes the command, and starts a new one.
  mutating func encode(into output: inout ByteBuffer) {
    if let (index, data) = document.take() {
      data.withUnsafeBytes { encode(document: $0, index, into: &output) }
    } else {
      encode(document: UnsafeRawBufferPointer(start: nil, count: 0), -1, into: &output)
    }
    arguments.removeAll()
    lengths.removeAll(keepingCapacity: true)
    pointers.removeAll(keepingCapacity: true)
  }

  private mutating func encode(
    document: UnsafeRawBufferPointer,
    _ documentIndex: Int,
    into output: inout ByteBuffer
  ) {
    precondition(!lengths.isEmpty, "A command has at least its name.")
    var next = arguments.bytes.baseAddress
    for (index, length) in lengths.enumerated() {
      if index == documentIndex {
        pointers.append(document.baseAddress?.assumingMemoryBound(to: CChar.self))
      } else {
        pointers.append(next?.assumingMemoryBound(to: CChar.self))
        next = next?.advanced(by: length)
      }
    }
    var command: UnsafeMutablePointer<CChar>?
    let length = Int(redisFormatCommandArgv(&command, CInt(lengths.count), &pointers, lengths))
    guard length > 0, let command else { fatalError("hiredis has no memory for a command of this size.") }
    output.append(UnsafeRawBufferPointer(start: command, count: length))
    redisFreeCommand(command)
  }
}
