internal import CHiredis
package import Foundation

/// A view of a reply in the parser's memory. Valid until the parser returns the next reply.
package struct RedisReplyView {
  /// The types of RESP2.
  package enum Kind {
    case string, status, error, integer, array, null
  }

  private let reply: UnsafeMutablePointer<redisReply>

  init(_ reply: UnsafeMutablePointer<redisReply>) {
    self.reply = reply
  }

  /// The type of the reply.
  package var kind: Kind {
    switch reply.pointee.type {
    case REDIS_REPLY_STRING: .string
    case REDIS_REPLY_STATUS: .status
    case REDIS_REPLY_ERROR: .error
    case REDIS_REPLY_INTEGER: .integer
    case REDIS_REPLY_ARRAY: .array
    // RESP3, which later releases of hiredis support, is never requested.
    default: .null
    }
  }

  /// The value of an integer; meaningless for all other types.
  package var integer: Int64 { reply.pointee.integer }

  /// The bytes of a string, a status or an error; empty for all other types.
  package var bytes: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: reply.pointee.str, count: reply.pointee.str == nil ? 0 : reply.pointee.len)
  }

  /// ``bytes`` as text, repaired where they are not UTF-8.
  package var string: String { String(decoding: bytes, as: UTF8.self) }
  /// ``bytes`` as text; `nil` where they are not UTF-8.
  package var text: String? { String(validating: bytes, as: UTF8.self) }
  /// A copy of ``bytes``.
  package var data: Data { Data(bytes) }

  /// The number of elements of an array; 0 for all other types.
  package var count: Int { kind == .array ? Int(reply.pointee.elements) : 0 }

  /// An element of an array.
  package subscript(index: Int) -> RedisReplyView {
    precondition(index < count, "A reply has \(count) elements, and no element \(index).")
    guard let element = reply.pointee.element[index] else { fatalError("hiredis has made an array with holes.") }
    return RedisReplyView(element)
  }

  /// Whether these are the bytes of a string, a status or an error.
  package func isEqual(to text: StaticString) -> Bool {
    let bytes = bytes
    guard bytes.count == text.utf8CodeUnitCount, let start = bytes.baseAddress else { return false }
    return memcmp(start, text.utf8Start, bytes.count) == 0
  }
}

extension RedisSharedStateError {
  /// Reads a server's error reply; `operation` is the name of the command that was refused.
  ///
  /// Only the code of the text is kept, because the rest may quote arguments.
  init(errorReply: String, operation: String) {
    let code = Self.code(of: errorReply)
    // A full server sends this instead of its first reply, and closes the connection. The code alone would look like a
    // reply to that command.
    let hasNoRoom = errorReply.hasPrefix("ERR max number of clients")
    switch code {
    case "ERR" where hasNoRoom:
      self = .unreachable(reason: "max number of clients reached; raise the server's maxclients")
    case "NOPERM":
      let subject = Self.deniedKind(in: errorReply).map { DeniedSubject($0) }
      let denied =
        subject == nil && Self.isOfScript(errorReply) ? Self.denied(inScriptOf: operation, errorReply) : operation
      self.init(.permissionDenied(operation: denied, subject: subject))
    case "NOAUTH", "WRONGPASS": self = .authenticationFailed
    case "READONLY": self = .notPrimary
    case "MOVED": self = .moved
    default: self = .serverError(code: code)
    }
  }

  /// After such a revision, no higher one could be counted.
  static let unbelievableRevision = RedisSharedStateError.protocolViolation(
    reason: "a commit was answered with an implausible revision"
  )

  /// Whether a permission error is about a key or a channel; `nil`: it is about the command.
  ///
  /// 7.0 says "has no permissions to access one of the keys used as arguments", or in a script "can't access at least
  /// one of the keys"; later releases say "No permissions to access a key". The same holds for channels.
  private static func deniedKind(in errorReply: String) -> DeniedSubject.Kind? {
    if errorReply.contains("publish to the channel") { return .channel }
    let words = errorReply.split(separator: " ").drop { $0 != "access" }.dropFirst()
    return words.lazy.compactMap { word in
      switch word {
      case "key", "keys": DeniedSubject.Kind.key
      case "channel", "channels": .channel
      default: nil
      }
    }.first
  }

  /// The command that a script may not call. 7.0 does not name it.
  private static func denied(inScriptOf operation: String, _ errorReply: String) -> String {
    let parts = errorReply.split(separator: "'", omittingEmptySubsequences: false)
    guard let index = parts.firstIndex(where: { $0.hasSuffix("to run the ") }), index + 1 < parts.count,
      case let name = parts[index + 1], !name.isEmpty,
      name.utf8.allSatisfy({ $0 >= UInt8(ascii: "a") && $0 <= UInt8(ascii: "z") || "|-".utf8.contains($0) })
    else { return "\(operation), or one that its script calls" }
    return name.uppercased().replacing("|", with: " ")
  }

  private static func isOfScript(_ errorReply: String) -> Bool { isNested(errorReply) || isDeniedInScript(errorReply) }

  /// A permission error within a script is reported as an ordinary error. The text of 7.0 differs from later releases …
  private static func isDeniedInScript(_ errorReply: String) -> Bool {
    errorReply.contains("The user executing the script can't") || errorReply.contains("ACL failure in script")
  }

  /// … and up to 6.2, every error in a script looks like "ERR Error running script (call to f_…): @user_script:1: -CODE
  /// …".
  private static func isNested(_ errorReply: String) -> Bool { errorReply.hasPrefix("ERR Error running script") }

  private static func code(of errorReply: String) -> String {
    let words = errorReply.split(separator: " ")
    if isDeniedInScript(errorReply) { return "NOPERM" }
    let isNested = isNested(errorReply)
    let code = isNested ? words.first { $0.hasPrefix("-") }?.dropFirst() ?? "ERR" : words.first ?? "ERR"
    let isCode = code.utf8.allSatisfy {
      (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
        || $0 == UInt8(ascii: "_")
    }
    return isCode && code.utf8.count <= 32 ? String(code) : "ERR"
  }
}
