import Foundation

/// The operations string of one key: `nonce number revision parent;…`, newest first.
///
/// Works on the bytes as they are, exactly as the script does, since anybody may have edited them.
struct RememberedOperations: Sendable {
  /// The string has a form on which the script fails.
  struct Malformed: Error {}

  private(set) var string: Data

  init(_ string: Data) {
    self.string = string
  }

  /// The answer to an operation that was applied before. Otherwise forgets the writer's last operation.
  mutating func answer(to operation: Operation) throws(Malformed) -> (revision: String, parent: String)? {
    guard let found = string.range(of: Data("\(operation.writer) ".utf8)) else { return nil }
    guard let close = string[found.upperBound...].firstIndex(of: UInt8(ascii: ";")) else { throw Malformed() }
    let fields = String(decoding: string[found.upperBound..<close], as: UTF8.self)
      .split(separator: " ", omittingEmptySubsequences: false)
    let areNumbers = fields.allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy { (48...57).contains($0) } }
    if fields.count == 3, areNumbers, fields[0] == String(operation.number) {
      return (String(fields[1]), String(fields[2]))
    }
    string.removeSubrange(found.lowerBound...close)
    return nil
  }

  /// Whether there are so many that some may have been forgotten.
  var isFull: Bool { string.count { $0 == UInt8(ascii: ";") } >= CommitScript.rememberedOperations }

  /// Whether a writer's last operation is among them.
  func contains(_ writer: String) -> Bool { string.range(of: Data("\(writer) ".utf8)) != nil }

  /// Puts an operation first, and forgets the oldest of too many.
  mutating func remember(_ operation: Operation, revision: String, parent: String) throws(Malformed) {
    string = Data("\(operation.writer) \(operation.number) \(revision) \(parent);".utf8) + string
    let ends = string.indices.filter { string[$0] == UInt8(ascii: ";") }
    guard ends.count > CommitScript.rememberedOperations else { return }
    guard string.last == UInt8(ascii: ";") else { throw Malformed() }
    string = Data(string[...ends[ends.count - 2]])
  }
}
