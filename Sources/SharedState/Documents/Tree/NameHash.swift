/// Hashes of the names of members.
///
/// They depend on numbers that are new in each process, so that nobody can write a document whose names have all the
/// same hash. Only for tables that look at the names themselves, too.
enum NameHash {
  private static let seeds = (UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max) | 1)

  /// The hash of a name's bytes, without escapes.
  static func hash(_ bytes: UnsafeBufferPointer<UInt8>) -> UInt64 {
    let (seed, factor) = seeds
    var hash = seed &+ UInt64(bytes.count)
    var rest = UnsafeRawBufferPointer(bytes)
    while rest.count >= 8 {
      hash = mix(hash ^ rest.loadUnaligned(as: UInt64.self), factor)
      rest = UnsafeRawBufferPointer(rebasing: rest[8...])
    }
    if rest.count >= 4 {
      // The two halves overlap where there are fewer than eight bytes.
      let low = UInt64(rest.loadUnaligned(as: UInt32.self))
      let high = UInt64(rest.loadUnaligned(fromByteOffset: rest.count - 4, as: UInt32.self))
      return mix(hash ^ (low | high << 32), factor)
    }
    var last: UInt64 = 0
    for byte in rest { last = last << 8 | UInt64(byte) }
    return mix(hash ^ last, factor)
  }

  /// Every bit of the result depends on every bit of both.
  @inline(__always)
  private static func mix(_ one: UInt64, _ other: UInt64) -> UInt64 {
    let (high, low) = one.multipliedFullWidth(by: other)
    return high ^ low
  }
}
