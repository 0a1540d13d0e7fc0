/// The slot of a cluster in which all keys and channels of a namespace lie, because the namespace has a hash tag.
struct ClusterSlot {
  let number: UInt16

  private static let count: UInt16 = 16_384

  /// `nil`: the namespace has no hash tag, so its values are spread over all slots.
  init?(namespace: String) {
    guard let tag = RedisName.hashTag(of: namespace) else { return nil }
    number = Self.checksum(of: tag.utf8) % Self.count
  }

  /// CRC16 with the polynomial 0x1021 and the initial value 0 (XMODEM), as the specification of Redis Cluster says.
  private static func checksum(of bytes: some Sequence<UInt8>) -> UInt16 {
    bytes.reduce(0) { checksum, byte in
      (0..<8).reduce(checksum ^ UInt16(byte) << 8) { rest, _ in rest & 0x8000 == 0 ? rest << 1 : rest << 1 ^ 0x1021 }
    }
  }

  static let missing = RedisSharedStateError.invalidName(
    reason: "in a cluster, the namespace needs a hash tag, so that all values have one slot: '{shop}:', for example"
  )
}
