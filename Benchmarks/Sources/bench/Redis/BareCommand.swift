/// The arguments of one command, as hiredis requires them, in memory of their own.
final class BareCommand: @unchecked Sendable {
  // `@unchecked Sendable` is right because one thread at a time uses it.
  let count: Int32
  let pointers: UnsafeMutablePointer<UnsafePointer<CChar>?>
  let lengths: UnsafeMutablePointer<Int>
  private let memory: [UnsafeMutableRawBufferPointer]

  /// Additional bytes for the replacement of an argument.
  private static let room = 64

  init(_ arguments: [[UInt8]]) {
    count = Int32(arguments.count)
    pointers = .allocate(capacity: arguments.count)
    lengths = .allocate(capacity: arguments.count)
    memory = arguments.map { .allocate(byteCount: $0.count + Self.room, alignment: 16) }
    for (index, argument) in arguments.enumerated() {
      memory[index].copyBytes(from: argument)
      pointers[index] = UnsafePointer(memory[index].baseAddress?.assumingMemoryBound(to: CChar.self))
      lengths[index] = argument.count
    }
  }

  deinit {
    memory.forEach { $0.deallocate() }
    pointers.deallocate()
    lengths.deallocate()
  }

  func replace(_ index: Int, by bytes: [UInt8]) {
    memory[index].copyBytes(from: bytes)
    lengths[index] = bytes.count
  }

  func replace(_ index: Int, by number: Int) {
    var rest = number
    var digits = 1
    while rest >= 10 {
      rest /= 10
      digits += 1
    }
    rest = number
    for position in (0..<digits).reversed() {
      memory[index][position] = UInt8(48 + rest % 10)
      rest /= 10
    }
    lengths[index] = digits
  }
}
