/// Bytes that are added at the end and taken from the front, in memory that is reused.
struct ByteBuffer: ~Copyable {
  private var memory: UnsafeMutableRawBufferPointer
  private var start = 0
  private var end = 0

  /// A larger buffer is released once it is empty.
  private static let keptCapacity = 1_048_576

  init() {
    memory = .allocate(byteCount: 4_096, alignment: 16)
  }

  deinit {
    memory.deallocate()
  }

  var isEmpty: Bool { start == end }
  var count: Int { end - start }

  /// Valid until the buffer is changed.
  var bytes: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: memory[start..<end])
  }

  mutating func append(_ bytes: UnsafeRawBufferPointer) {
    guard let source = bytes.baseAddress, !bytes.isEmpty else { return }
    if memory.count - end < bytes.count { makeRoom(for: bytes.count) }
    memory.baseAddress?.advanced(by: end).copyMemory(from: source, byteCount: bytes.count)
    end += bytes.count
  }

  mutating func removeFirst(_ count: Int) {
    start += count
    if start == end { removeAll() }
  }

  mutating func removeAll() {
    (start, end) = (0, 0)
    if memory.count > Self.keptCapacity {
      memory.deallocate()
      memory = .allocate(byteCount: 4_096, alignment: 16)
    }
  }

  private mutating func makeRoom(for additional: Int) {
    let larger = UnsafeMutableRawBufferPointer.allocate(
      byteCount: max(memory.count * 2, count + additional),
      alignment: 16
    )
    larger.copyMemory(from: bytes)
    memory.deallocate()
    memory = larger
    (start, end) = (0, end - start)
  }
}
