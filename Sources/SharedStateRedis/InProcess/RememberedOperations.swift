import Foundation

/// The operations string of one key: `nonce number revision parent;…`, newest first. Unless there are too many, the
/// last entry is `- 0 revision parent;`: all operations after this revision are in the string. In front of all there may
/// be a reservation: `+until nonce;`.
///
/// Works on the bytes as they are, exactly as the script does, since any client may have edited them.
struct RememberedOperations: Sendable {
  /// The string has a form that makes the script fail.
  struct Malformed: Error {}

  private(set) var string: Data

  init(_ string: Data) {
    self.string = string
  }

  /// Makes a string that remembers nothing before a revision.
  init(since revision: String, parent: String) {
    string = Data("- 0 \(revision) \(parent);".utf8)
  }

  /// The time until which the value is reserved for a writer.
  struct Reservation: Sendable {
    let end: Double
    let holder: Data

    /// For how long it holds against a writer, in milliseconds; `nil`: it does not.
    func left(for writer: String, at now: ServerTime) -> UInt64? {
      let left = end - Double(now.microseconds)
      let longest = Double(CommitScript.longestReservationInMilliseconds) * 1_000
      guard holder != Data(writer.utf8), left > 0, left <= longest else { return nil }
      return UInt64((left / 1_000).rounded(.up))
    }
  }

  /// Takes the reservation; `nil`: there is none.
  mutating func takeReservation() -> Reservation? {
    guard string.first == UInt8(ascii: "+") else { return nil }
    var rest = string.dropFirst()
    guard let end = Self.number(before: " ", of: &rest) else { return nil }
    let holder = rest.prefix { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: ";") }
    rest = rest.dropFirst(holder.count)
    guard !holder.isEmpty, rest.first == UInt8(ascii: ";") else { return nil }
    string = Data(rest.dropFirst())
    return Reservation(end: Double(end) ?? .infinity, holder: Data(holder))
  }

  /// Puts a reservation in front.
  mutating func reserve(for writer: String, until microseconds: Int64) {
    string = Data("+\(microseconds) \(writer);".utf8) + string
  }

  /// What is known about an operation.
  enum Answer {
    case unknown
    /// The operation was applied before.
    case applied(revision: String, parent: String)
    /// A later operation of the same writer was applied.
    case overtaken
  }

  /// Looks up an operation. Forgets the writer's last operation, unless it is this one.
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
  ///
  /// - Parameters:
  ///   - revision: The expected revision; `nil`: the operation was applied unconditionally.
  ///   - isWriterRemembered: Whether the last operation of its writer was in the string.
  func mayHaveForgotten(operationOn revision: Revision?, isWriterRemembered: Bool) -> Bool {
    guard let (since, before) = beginning else {
      let count = string.count { $0 == UInt8(ascii: ";") }
      return !isWriterRemembered && count >= CommitScript.rememberedOperations
    }
    guard let revision else { return false }
    return since > Double(revision.rawValue) && (before != "0" || revision != .none)
  }

  /// The captures of the script's pattern `%- 0 (%d+) (%d+);`.
  private var beginning: (since: Double, before: String)? {
    var rest = string[...]
    while let found = rest.range(of: Data("- 0 ".utf8)) {
      rest = rest[found.upperBound...]
      var numbers = rest
      guard let since = Self.number(before: " ", of: &numbers), let parent = Self.number(before: ";", of: &numbers)
      else { continue }
      return (Double(since) ?? 0, parent)
    }
    return nil
  }

  private static func number(before end: Unicode.Scalar, of bytes: inout Data) -> String? {
    let digits = bytes.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    bytes = bytes[digits.endIndex...]
    guard !digits.isEmpty, bytes.first == UInt8(ascii: end) else { return nil }
    bytes = bytes.dropFirst()
    return String(decoding: digits, as: UTF8.self)
  }

  /// Whether a writer's last operation is in the string.
  func contains(_ writer: String) -> Bool { string.range(of: Data("\(writer) ".utf8)) != nil }

  /// Puts an operation first, and forgets the oldest when there are too many.
  mutating func remember(_ operation: Operation, revision: String, parent: String) {
    string = Data("\(operation.writer) \(operation.number) \(revision) \(parent);".utf8) + string
    guard string.count > CommitScript.rememberedOperations * CommitScript.shortestOperation else { return }
    let ends = string.indices.filter { string[$0] == UInt8(ascii: ";") }
    guard ends.count > CommitScript.rememberedOperations else { return }
    // What follows the last semicolon is no operation.
    let isWhole = string.last == UInt8(ascii: ";")
    string = Data(string[...ends[ends.count - (isWhole ? 2 : 1)]])
  }
}
