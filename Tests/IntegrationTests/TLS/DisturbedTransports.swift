#if TLS
  import SharedStateRedis

  /// A transport that passes everything on. A test overrides the part that it watches or changes.
  class ForwardingTransport: Transport {
    let base: any Transport

    init(_ base: any Transport) { self.base = base }

    var descriptor: CInt { base.descriptor }
    var holdsInput: Bool { base.holdsInput }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(RedisSharedStateError) -> Int {
      try base.read(into: buffer)
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws(RedisSharedStateError) -> Int {
      try base.write(bytes)
    }

    func wait(for wanted: Readiness, until deadline: Instant) throws(RedisSharedStateError) -> Readiness {
      try base.wait(for: wanted, until: deadline)
    }

    func close() { base.close() }
  }

  /// Breaks after some bytes in one direction, or in both together.
  final class BrittleTransport: ForwardingTransport {
    /// How many more bytes pass.
    private var (reading, writing): (Int, Int)
    private(set) var (readBytes, writtenBytes) = (0, 0)

    static let broken = RedisSharedStateError.disconnected(reason: "broken by the test")

    init(_ base: any Transport, reading: Int = .max, writing: Int = .max) {
      (self.reading, self.writing) = (reading, writing)
      super.init(base)
    }

    override func read(into buffer: UnsafeMutableRawBufferPointer) throws(RedisSharedStateError) -> Int {
      guard reading > 0 else { throw Self.broken }
      let count = try base.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(reading)))
      (reading, readBytes) = (reading - count, readBytes + count)
      return count
    }

    override func write(_ bytes: UnsafeRawBufferPointer) throws(RedisSharedStateError) -> Int {
      guard writing > 0 else { throw Self.broken }
      let count = try base.write(UnsafeRawBufferPointer(rebasing: bytes.prefix(writing)))
      (writing, writtenBytes) = (writing - count, writtenBytes + count)
      return count
    }
  }

  /// Damages the last byte of what arrives at one of its reads.
  final class DamagingTransport: ForwardingTransport {
    private var readsUntilDamage: Int

    /// - Parameter read: The number of the read, not counting those that bring nothing.
    init(_ base: any Transport, at read: Int) {
      readsUntilDamage = read
      super.init(base)
    }

    override func read(into buffer: UnsafeMutableRawBufferPointer) throws(RedisSharedStateError) -> Int {
      let count = try base.read(into: buffer)
      guard count > 0 else { return count }
      readsUntilDamage -= 1
      if readsUntilDamage == 0 { buffer[count - 1] ^= 1 }
      return count
    }
  }

  /// Passes few bytes at a time, and none every other time.
  final class StutteringTransport: ForwardingTransport {
    private let bytes: Int
    private var (skipsRead, skipsWrite) = (false, false)

    init(_ base: any Transport, bytes: Int) {
      self.bytes = bytes
      super.init(base)
    }

    override func read(into buffer: UnsafeMutableRawBufferPointer) throws(RedisSharedStateError) -> Int {
      skipsRead.toggle()
      return skipsRead ? 0 : try base.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(bytes)))
    }

    override func write(_ bytes: UnsafeRawBufferPointer) throws(RedisSharedStateError) -> Int {
      skipsWrite.toggle()
      return skipsWrite ? 0 : try base.write(UnsafeRawBufferPointer(rebasing: bytes.prefix(self.bytes)))
    }
  }

  /// Remembers what it has sent.
  final class RecordingTransport: ForwardingTransport {
    private(set) var written: [UInt8] = []

    override func write(_ bytes: UnsafeRawBufferPointer) throws(RedisSharedStateError) -> Int {
      let count = try base.write(bytes)
      written += bytes.prefix(count)
      return count
    }
  }
#endif
