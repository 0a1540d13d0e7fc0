public import Foundation

extension UUID {
  /// An identifier for tests that ends in a number, in hexadecimal digits: `00000000-0000-0000-0000-00000000002A` for 42.
  public init(_ number: Int) {
    let bits = UInt64(bitPattern: Int64(number))
    func byte(_ index: UInt64) -> UInt8 { UInt8(truncatingIfNeeded: bits >> (8 * index)) }
    self.init(
      uuid: (
        0, 0, 0, 0, 0, 0, 0, 0,
        byte(7), byte(6), byte(5), byte(4), byte(3), byte(2), byte(1), byte(0)
      )
    )
  }
}
