import Foundation

/// The operations string of one key: `nonce number revision parent;…`, newest first. Where what was remembered is gone, the
/// last is `- 0 revision revision;`, and everything that came after this revision is there.
///
/// Works on the bytes as they are, exactly as the script does, since anybody may have edited them.
struct RememberedOperations: Sendable {
  /// The string has a form on which the script fails.
  struct Malformed: Error {}

  private(set) var string: Data

  /// - Parameters:
  ///   - string: `nil`: there is none, or no more.
  ///   - revision: What is stored.
  init(_ string: Data?, revision: String) {
    self.string = string ?? Data(revision == "0" ? "".utf8 : "- 0 \(revision) \(revision);".utf8)
  }

  /// What is known of an operation.
  enum Answer {
    case unknown
    /// It was applied before.
    case applied(revision: String, parent: String)
    /// A later one of its writer was applied.
    case overtaken
  }

  /// What is known of an operation. Forgets the writer's last one, unless it is this one.
  mutating func answer(to operation: Operation) throws(Malformed) -> Answer {
    guard let found = string.range(of: Data("\(operation.writer) ".utf8)) else { return .unknown }
    guard let close = string[found.upperBound...].firstIndex(of: UInt8(ascii: ";")) else { throw Malformed() }
    let fields = String(decoding: string[found.upperBound..<close], as: UTF8.self)
      .split(separator: " ", omittingEmptySubsequences: false)
    let areNumbers = fields.allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy { (48...57).contains($0) } }
    guard fields.count == 3, areNumbers, let last = Double(fields[0]) else {
      string.removeSubrange(found.lowerBound...close)
      return .unknown
    }
    if fields[0] == String(operation.number) { return .applied(revision: String(fields[1]), parent: String(fields[2])) }
    string.removeSubrange(found.lowerBound...close)
    return last > Double(operation.number) ? .overtaken : .unknown
  }

  /// Whether an operation that was applied on top of a revision may have been forgotten.
  func mayHaveForgotten(operationOn revision: Revision) -> Bool {
    let count = string.count { $0 == UInt8(ascii: ";") }
    return count >= CommitScript.rememberedOperations || since > Double(revision.rawValue)
  }

  /// What the script's pattern `%- 0 (%d+) ` captures.
  private var since: Double {
    var rest = string[...]
    while let found = rest.range(of: Data("- 0 ".utf8)) {
      rest = rest[found.upperBound...]
      let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
      guard !digits.isEmpty, digits.endIndex < rest.endIndex, rest[digits.endIndex] == UInt8(ascii: " ") else {
        continue
      }
      return Double(String(decoding: digits, as: UTF8.self)) ?? 0
    }
    return 0
  }

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
