/// The names of the files in which the replacement of one file is prepared, beside it.
///
/// They are random: the number of a process is another one's after a restart, and in a container it is always 1.
struct TemporaryName {
  private static let suffix = ".shared-state"
  private static let digits = 16

  private let prefix: String

  /// - Parameter name: The name of the file that is replaced.
  init(of name: String) {
    prefix = ".\(name)."
  }

  /// Makes another one each time.
  func make() -> String {
    let number = String(UInt64.random(in: .min ... .max), radix: 16)
    return prefix + String(repeating: "0", count: Self.digits - number.utf8.count) + number + Self.suffix
  }

  /// Whether a file has such a name, so that it is ours.
  func isMade(_ name: String) -> Bool {
    let bytes = Array(name.utf8)
    guard
      bytes.count > prefix.utf8.count + Self.suffix.utf8.count, bytes.starts(with: prefix.utf8),
      bytes.reversed().starts(with: Self.suffix.utf8.reversed())
    else { return false }
    let number = bytes[prefix.utf8.count..<bytes.count - Self.suffix.utf8.count]
    if number.count == Self.digits, number.allSatisfy({ Self.isDecimal($0) || (0x61...0x66).contains($0) }) {
      return true
    }
    // Earlier releases had the number of the process there, and of the write.
    let parts = number.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    return parts.count == 2 && parts.allSatisfy { !$0.isEmpty && $0.allSatisfy(Self.isDecimal) }
  }

  private static func isDecimal(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }
}
