import Foundation

@testable import SharedStateRedis

/// Checks that replies are the same in pieces of any size, survive a round trip, and keep within their bound.
///
/// The first byte of an input determines the size of the pieces.
enum ReplyTarget {
  /// So small that an input of a few bytes exceeds it.
  private static let bound = ReplyBound(bytes: 512, elements: 32, depth: 3)

  static func run(_ data: Data) {
    guard let first = data.first else { return }
    let bytes = Array(data.dropFirst())
    let whole = replies(in: bytes, pieces: max(1, bytes.count), within: bound)
    let parts = replies(in: bytes, pieces: Int(first) % 32 + 1, within: bound)
    check(whole.replies == parts.replies, "other replies in pieces")
    check(whole.isViolated == parts.isViolated, "violated only \(parts.isViolated ? "in pieces" : "as a whole")")
    if let reply = whole.replies.first { check(reply.mayBegin(with: bytes[0]), "a reply of another type") }
    for reply in whole.replies {
      check(reply.elements <= bound.elements && reply.depth <= bound.depth, "more than the bound")
    }
    // Types that RESP2 does not know are written as null, which may be longer than the original.
    let again = replies(in: whole.replies.flatMap(\.text), pieces: 7, within: .largest)
    check(!again.isViolated && again.replies == whole.replies, "other replies once they were written")
  }

  private static func replies(
    in bytes: [UInt8],
    pieces: Int,
    within bound: ReplyBound
  ) -> (replies: [Reply], isViolated: Bool) {
    let parser = RedisParser(bound: bound)
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
      guard error.code == .protocolViolation else { fatalError("another error") }
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

  /// A copy of everything that a reply shows.
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
      if case .array = self {} else { check(view.count == 0, "elements of a reply that is not an array") }
    }

    /// Whether the text of the reply may begin with this byte.
    func mayBegin(with byte: UInt8) -> Bool {
      let markers =
        switch self {
        case .string: "$"
        case .status: "+"
        case .error: "-"
        case .integer: ":"
        case .array: "*"
        // Also stands for all types that RESP2 does not know.
        case .null: "$*_,#!=(%~>|"
        }
      return markers.utf8.contains(byte)
    }

    /// The number of elements of all arrays together.
    var elements: Int {
      guard case .array(let elements) = self else { return 0 }
      return elements.reduce(elements.count) { $0 + $1.elements }
    }

    /// How deep arrays are nested.
    var depth: Int {
      guard case .array(let elements) = self else { return 0 }
      return 1 + (elements.map(\.depth).max() ?? 0)
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
