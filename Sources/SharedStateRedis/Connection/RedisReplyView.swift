internal import CHiredis
package import Foundation

/// Looks at a reply inside the parser's memory. Valid until the parser is asked for the next one.
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
    // RESP3, which later releases of hiredis know, is never asked for.
    default: .null
    }
  }

  /// The number of an integer; of no meaning for everything else.
  package var integer: Int64 { reply.pointee.integer }

  /// The bytes of a string, a status or an error; empty for everything else.
  package var bytes: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: reply.pointee.str, count: reply.pointee.str == nil ? 0 : reply.pointee.len)
  }

  /// ``bytes`` as text, repaired where it is no UTF-8.
  package var string: String { String(decoding: bytes, as: UTF8.self) }
  /// ``bytes`` as text; `nil` where it is no UTF-8.
  package var text: String? { String(validating: bytes, as: UTF8.self) }
  /// A copy of ``bytes``.
  package var data: Data { Data(bytes) }

  /// The number of elements of an array; 0 for everything else.
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
  /// Of the text nothing but the code is kept, because it may quote arguments.
  package init(errorReply: String, operation: String) {
    let code = Self.code(of: errorReply)
    switch code {
    case "NOPERM": self = .permissionDenied(operation: operation)
    case "NOAUTH", "WRONGPASS": self = .authenticationFailed
    case "READONLY": self = .notPrimary
    default: self = .serverError(code: code)
    }
  }

  /// A server that answers with such a revision would end all counting.
  static let unbelievableRevision = RedisSharedStateError.protocolViolation(
    reason: "a commit was answered with a revision beyond belief"
  )

  private static func code(of errorReply: String) -> String {
    let words = errorReply.split(separator: " ")
    // What a script may not do is told as an ordinary error, in other words by 7.0 than by later releases …
    if errorReply.contains("The user executing the script can't") || errorReply.contains("ACL failure in script") {
      return "NOPERM"
    }
    // … and until 6.2 every error within a script is: "ERR Error running script (call to f_…): @user_script:1: -CODE …".
    let isNested = errorReply.hasPrefix("ERR Error running script")
    let code = isNested ? words.first { $0.hasPrefix("-") }?.dropFirst() ?? "ERR" : words.first ?? "ERR"
    let isCode = code.utf8.allSatisfy {
      (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
        || $0 == UInt8(ascii: "_")
    }
    return isCode && code.utf8.count <= 32 ? String(code) : "ERR"
  }
}
