import Foundation

/// The digest SHA-1 (FIPS 180-4), because it is the one that Redis offers to its scripts.
struct SHA1 {
  private var state: (UInt32, UInt32, UInt32, UInt32, UInt32) = (
    0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0
  )
  /// The bytes behind the last whole block.
  private var rest: [UInt8] = []
  private var count: UInt64 = 0

  private static let blockBytes = 64

  init() {
    rest.reserveCapacity(2 * Self.blockBytes)
  }

  mutating func update(_ text: String) {
    var text = text
    text.withUTF8 { update(UnsafeRawBufferPointer($0)) }
  }

  mutating func update(_ bytes: UnsafeRawBufferPointer) {
    count += UInt64(bytes.count)
    var bytes = bytes[...]
    if !rest.isEmpty {
      let missing = bytes.prefix(Self.blockBytes - rest.count)
      rest.append(contentsOf: missing)
      bytes = bytes.dropFirst(missing.count)
      takeRest()
    }
    while bytes.count >= Self.blockBytes {
      take(UnsafeRawBufferPointer(rebasing: bytes.prefix(Self.blockBytes)))
      bytes = bytes.dropFirst(Self.blockBytes)
    }
    rest.append(contentsOf: bytes)
  }

  /// The digest in 40 lower-case hexadecimal digits.
  mutating func finish() -> String {
    let bits = count &* 8
    rest.append(0x80)
    while rest.count % Self.blockBytes != Self.blockBytes - 8 { rest.append(0) }
    for shift in stride(from: 56, through: 0, by: -8) { rest.append(UInt8(truncatingIfNeeded: bits >> UInt64(shift))) }
    while !rest.isEmpty { takeRest() }
    let words = [state.0, state.1, state.2, state.3, state.4]
    return String(unsafeUninitializedCapacity: 40) { digits in
      for (place, word) in words.enumerated() {
        for digit in 0..<8 {
          let value = UInt8(truncatingIfNeeded: word >> UInt32(28 - 4 * digit)) & 0xF
          digits[8 * place + digit] = value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
        }
      }
      return 40
    }
  }

  static func digest(of bytes: some ContiguousBytes) -> String {
    var digest = SHA1()
    bytes.withUnsafeBytes { digest.update($0) }
    return digest.finish()
  }

  private mutating func takeRest() {
    guard rest.count >= Self.blockBytes else { return }
    let block = rest
    block.withUnsafeBytes { take(UnsafeRawBufferPointer(rebasing: $0.prefix(Self.blockBytes))) }
    rest.removeFirst(Self.blockBytes)
  }

  private mutating func take(_ block: UnsafeRawBufferPointer) {
    withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 80) { words in
      for index in 0..<16 {
        words[index] = UInt32(bigEndian: block.loadUnaligned(fromByteOffset: 4 * index, as: UInt32.self))
      }
      for index in 16..<80 {
        let word = words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16]
        words[index] = word << 1 | word >> 31
      }
      // Four loops without closures, which a build without optimisation would call.
      var (a, b, c, d, e) = state
      for index in 0..<20 {
        let next = (a << 5 | a >> 27) &+ (d ^ b & (c ^ d)) &+ e &+ 0x5A82_7999 &+ words[index]
        (e, d, c, b, a) = (d, c, b << 30 | b >> 2, a, next)
      }
      for index in 20..<40 {
        let next = (a << 5 | a >> 27) &+ (b ^ c ^ d) &+ e &+ 0x6ED9_EBA1 &+ words[index]
        (e, d, c, b, a) = (d, c, b << 30 | b >> 2, a, next)
      }
      for index in 40..<60 {
        let next = (a << 5 | a >> 27) &+ (b & c | d & (b | c)) &+ e &+ 0x8F1B_BCDC &+ words[index]
        (e, d, c, b, a) = (d, c, b << 30 | b >> 2, a, next)
      }
      for index in 60..<80 {
        let next = (a << 5 | a >> 27) &+ (b ^ c ^ d) &+ e &+ 0xCA62_C1D6 &+ words[index]
        (e, d, c, b, a) = (d, c, b << 30 | b >> 2, a, next)
      }
      state = (state.0 &+ a, state.1 &+ b, state.2 &+ c, state.3 &+ d, state.4 &+ e)
    }
  }
}
