/// A hash that is the same in every process, unlike those of the library of Swift.
///
/// Source: Fowler, Noll and Vo, <http://www.isthe.com/chongo/tech/comp/fnv/>.
package enum FNV1a {
  /// The hash of the bytes of a text.
  package static func hash(of text: String) -> UInt64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    return hash
  }
}
