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
