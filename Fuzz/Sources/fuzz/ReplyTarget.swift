import Foundation

@testable import SharedStateRedis

/// Replies are the same in whatever pieces they come, and when they were written and read again.
///
/// The first byte of an input says how large the pieces are.
enum ReplyTarget {
  static func run(_ data: Data) {
    guard let first = data.first else { return }
    let bytes = Array(data.dropFirst())
    guard !announcesMany(bytes) else { return }
    let whole = replies(in: bytes, pieces: max(1, bytes.count))
    let parts = replies(in: bytes, pieces: Int(first) % 32 + 1)
    check(whole.replies.starts(with: parts.replies), "other replies in pieces")
    check(whole.isViolated == parts.isViolated, "violated only \(parts.isViolated ? "in pieces" : "as a whole")")
    if let reply = whole.replies.first { check(reply.mayBegin(with: bytes[0]), "a reply of another type") }
    if !whole.isViolated { check(whole.replies == parts.replies, "fewer replies in pieces") }
    let written = parts.replies.filter { !$0.isOdd }
    let again = replies(in: written.flatMap(\.text), pieces: 7)
    check(!again.isViolated && again.replies == written, "other replies once they were written")
  }

  /// Whether so many elements are announced that hiredis asks for gigabytes before any of them is there.
  private static func announcesMany(_ bytes: [UInt8]) -> Bool {
    bytes.indices.contains { index in
      guard "*%~>|".utf8.contains(bytes[index]) else { return false }
      return bytes[(index + 1)...].prefix { (0x30...0x39).contains($0) }.count > 6
    }
  }

  private static func replies(in bytes: [UInt8], pieces: Int) -> (replies: [Reply], isViolated: Bool) {
    let parser = RedisParser()
    var replies: [Reply] = []
    do throws(RedisSharedStateError) {
      for start in stride(from: 0, to: bytes.count, by: pieces) {
        var piece = Array(bytes[start..<min(start + pieces, bytes.count)])
        try feed(&piece, to: parser)
        while let view = try parser.next() {
          replies.append(Reply(view))
          _ = ScriptAnswer(view)
        }
      }
    } catch {
      guard case .protocolViolation = error else { fatalError("another error") }
      return (replies, true)
    }
    return (replies, false)
  }

  private static func feed(_ piece: inout [UInt8], to parser: RedisParser) throws(RedisSharedStateError) {
    let result = piece.withUnsafeBytes { bytes in
      Result { () throws(RedisSharedStateError) in try parser.feed(bytes) }
    }
    try result.get()
  }

  /// A reply with all that can be seen of it.
  private indirect enum Reply: Equatable {
    case string([UInt8]), status([UInt8]), error([UInt8]), integer(Int64), array([Reply]), null

    init(_ view: RedisReplyView) {
      let bytes = Array(view.bytes)
      check(view.data == Data(bytes), "other bytes")
      check(view.text.map { Array($0.utf8) == bytes } ?? true, "another text")
      switch view.kind {
      case .string: self = .string(bytes)
      case .status: self = .status(bytes)
      case .error: self = .error(bytes)
      case .integer: self = .integer(view.integer)
      case .array: self = .array((0..<view.count).map { Reply(view[$0]) })
      case .null: self = .null
      }
      if case .array = self {} else { check(view.count == 0, "elements of what is no array") }
    }

    /// Whether the first byte of its text is this one.
    func mayBegin(with byte: UInt8) -> Bool {
      let markers =
        switch self {
        case .string: "$"
        case .status: "+"
        case .error: "-"
        case .integer: ":"
        case .array: "*"
        // And all that RESP2 does not know.
        case .null: "$*_,#!=(%~>|"
        }
      return markers.utf8.contains(byte)
    }

    /// Whether it has something that RESP2 cannot say, as a status with the end of a line.
    var isOdd: Bool {
      switch self {
      case .status(let bytes), .error(let bytes): bytes.contains(0x0D) || bytes.contains(0x0A)
      case .array(let elements): elements.contains(where: \.isOdd)
      case .string, .integer, .null: false
      }
    }

    var text: [UInt8] {
      switch self {
      case .string(let bytes): Array("$\(bytes.count)\r\n".utf8) + bytes + Array("\r\n".utf8)
      case .status(let bytes): Array("+".utf8) + bytes + Array("\r\n".utf8)
      case .error(let bytes): Array("-".utf8) + bytes + Array("\r\n".utf8)
      case .integer(let number): Array(":\(number)\r\n".utf8)
      case .array(let elements): Array("*\(elements.count)\r\n".utf8) + elements.flatMap(\.text)
      case .null: Array("$-1\r\n".utf8)
      }
    }
  }
}
