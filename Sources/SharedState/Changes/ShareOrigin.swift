/// Where a share is declared. Every reference has one, so it is packed.
struct ShareOrigin: CustomStringConvertible, @unchecked Sendable {
  // `@unchecked Sendable` is right because the bytes belong to a literal, which nobody ever changes or releases.
  private let fileIDBytes: UnsafePointer<UInt8>?
  private let packedLine: UInt32

  init(fileID: StaticString, line: UInt) {
    fileIDBytes = fileID.hasPointerRepresentation ? fileID.utf8Start : nil
    packedLine = UInt32(clamping: line)
  }

  /// The module and the file.
  var fileID: String {
    // The bytes of a `StaticString` end with a zero.
    fileIDBytes.map { String(cString: $0) } ?? ""
  }

  var line: UInt { UInt(packedLine) }

  var description: String { "\(fileID):\(line)" }
}
