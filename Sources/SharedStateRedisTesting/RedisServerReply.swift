public import Foundation
import SharedStateRedis

/// The answer of a server to one command.
public indirect enum RedisServerReply: Hashable, Sendable {
  case null
  case integer(Int64)
  /// A string of any kind, including a status such as `OK`.
  case string(Data)
  /// An error, as the server worded it.
  case error(String)
  case array([RedisServerReply])

  init(_ view: RedisReplyView) {
    switch view.kind {
    case .string, .status: self = .string(view.data)
    case .error: self = .error(view.string)
    case .integer: self = .integer(view.integer)
    case .array: self = .array((0..<view.count).map { RedisServerReply(view[$0]) })
    case .null: self = .null
    }
  }

  /// The text of a string, or the digits of an integer; `nil` for any other reply.
  public var text: String? {
    switch self {
    case .string(let data): String(decoding: data, as: UTF8.self)
    case .integer(let integer): String(integer)
    default: nil
    }
  }

  /// The elements of an array; empty for any other reply.
  public var elements: [RedisServerReply] {
    if case .array(let elements) = self { elements } else { [] }
  }
}
