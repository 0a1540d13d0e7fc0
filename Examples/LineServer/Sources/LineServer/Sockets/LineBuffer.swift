/// Splits bytes into lines, however they are divided on arrival.
struct LineBuffer {
  static let longestLine = 4_096

  private var rest: [UInt8] = []

  /// Adds bytes, and returns the lines that are now complete; `nil` when a line is too long.
  mutating func lines(with bytes: some Collection<UInt8>) -> [String]? {
    var lines: [String] = []
    for byte in bytes {
      if byte == UInt8(ascii: "\n") {
        if rest.last == UInt8(ascii: "\r") { rest.removeLast() }
        lines.append(String(decoding: rest, as: UTF8.self))
        rest.removeAll(keepingCapacity: true)
      } else if rest.count == Self.longestLine {
        return nil
      } else {
        rest.append(byte)
      }
    }
    return lines
  }
}
