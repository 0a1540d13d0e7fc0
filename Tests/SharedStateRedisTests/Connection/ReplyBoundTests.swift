import Foundation
@testable import SharedStateRedis
import Testing

@Suite("The bound of a reply", .timeLimit(.minutes(5)))
struct ReplyBoundTests {
  private let bound = ReplyBound(bytes: 20_000, elements: 100, depth: 2)

  /// Feeds one text and then another one repeatedly, until the parser refuses more.
  ///
  /// - Returns: The number of bytes that the parser took, and the reason why it stopped.
  private func feed(
    _ start: String,
    repeating text: String,
    within bound: ReplyBound,
    piece: Int = 16_384
  ) -> (bytes: Int, error: RedisSharedStateError?) {
    let parser = RedisParser(bound: bound)
    let repeated = Array(String(repeating: text, count: max(1, piece / max(1, text.utf8.count))).utf8)
    var bytes = 0
    do throws(RedisSharedStateError) {
      for next in sequence(first: Array(start.utf8), next: { _ in repeated }).prefix(50_000) {
        try feed(next, to: parser)
        bytes += next.count
        while try parser.next() != nil {}
      }
    } catch {
      return (bytes, error)
    }
    return (bytes, nil)
  }

  private func feed(_ bytes: [UInt8], to parser: RedisParser) throws(RedisSharedStateError) {
    let result = bytes.withUnsafeBytes { bytes in
      Result { () throws(RedisSharedStateError) in try parser.feed(bytes) }
    }
    try result.get()
  }

  @Test(
    "An endless reply is refused shortly after it exceeds its bound",
    arguments: [
      ("+", "a"), ("-", "a"), (":", "1"), ("$", "1"), ("*", "1"), ("$", "0"), ("$500000\r\n", "a"),
      ("*100\r\n$15000\r\n", "a"), ("*100\r\n", "$800\r\n"),
      ("", "*1\r\n"), ("*2147483647\r\n", ":1\r\n"), ("*101\r\n", "$-1\r\n"),
      ("*1\r\n*100\r\n", ":1\r\n"), ("$536870912\r\n", "a"), ("*90\r\n", "*2\r\n:1\r\n:1\r\n"),
    ]
  )
  func endless(start: String, text: String) {
    let (bytes, error) = feed(start, repeating: text, within: bound)
    guard error?.code == .protocolViolation else {
      Issue.record("\(String(describing: error)) after \(bytes) bytes")
      return
    }
    #expect(bytes <= bound.bytes + 2 * 16_384)
  }

  @Test(
    "A reply that announces more than its bound is refused before it arrives",
    arguments: [
      ("$20001\r\n", "a reply has more than the allowed 20000 bytes"),
      ("$536870912\r\n", "a reply has more than the allowed 20000 bytes"),
      ("*2\r\n$3\r\nabc\r\n$19990\r\n", "a reply has more than the allowed 20000 bytes"),
      ("*101\r\n", "a reply has more than the allowed 100 elements"),
      ("*2147483647\r\n", "a reply has more than the allowed 100 elements"),
      ("*99\r\n*2\r\n", "a reply has more than the allowed 100 elements"),
      ("*1\r\n*1\r\n*1\r\n", "a reply has arrays that are nested more than 2 deep"),
    ]
  )
  func announced(start: String, reason: String) throws {
    let parser = RedisParser(bound: bound)
    try feed(Array(start.utf8), to: parser)
    #expect(throws: RedisSharedStateError.protocolViolation(reason: reason)) { _ = try parser.next() }
  }

  @Test("A line that arrives byte by byte is refused as soon as it exceeds its bound")
  func dribblingLine() {
    let (bytes, error) = feed("+", repeating: "a", within: .largest, piece: 1)
    #expect(error == .protocolViolation(reason: "a line has more than 16384 bytes"))
    #expect(bytes == ReplyBound.lineBytes + 2)
  }

  @Test("Replies just within the bound are parsed in pieces of any size", arguments: [1, 7, 1_000, 100_000])
  func within(piece: Int) throws {
    let parser = RedisParser(bound: bound)
    let largest = "$19989\r\n" + String(repeating: "a", count: 19_989) + "\r\n"
    let (numbers, nothings) = (String(repeating: ":1\r\n", count: 48), String(repeating: "$-1\r\n", count: 50))
    let nested = "*2\r\n*48\r\n\(numbers)*50\r\n\(nothings)"
    let line = "+" + String(repeating: "a", count: 16_000) + "\r\n"
    var rest = Array(String(repeating: largest + nested + line, count: 3).utf8)[...]
    #expect(largest.utf8.count == 20_000 - 1)
    var replies = 0
    while !rest.isEmpty {
      try feed(Array(rest.prefix(piece)), to: parser)
      rest = rest.dropFirst(piece)
      while try parser.next() != nil { replies += 1 }
    }
    #expect(replies == 9)
    #expect(parser.bufferedBytes == 0)
  }

  @Test(
    "A line that contains a number is not mistaken for a length, wherever it is split",
    arguments: [":20001\r\n", ":9223372036854775807\r\n", "-20001\rno\r\n", "+20001\r20001\r\n", "*1\r\n:20001\r\n"]
  )
  func numbers(text: String) throws {
    let bytes = Array(text.utf8)
    for split in bytes.indices {
      let parser = RedisParser(bound: bound)
      try feed(Array(bytes[..<split]), to: parser)
      #expect(try parser.next() == nil, "split at \(split)")
      try feed(Array(bytes[split...]), to: parser)
      #expect(try parser.next() != nil, "split at \(split)")
    }
  }

  @Test("Each reply is limited by its own bound")
  func each() throws {
    let parser = RedisParser(bound: ReplyBound(bytes: 100))
    try feed(Array("$5\r\nhello\r\n*2\r\n:1\r\n:2\r\n$200\r\n".utf8), to: parser)
    #expect(try parser.next()?.string == "hello")
    parser.bound = ReplyBound(bytes: 100, elements: 2, depth: 1)
    #expect(try parser.next()?.count == 2)
    parser.bound = ReplyBound(bytes: 10)
    #expect(throws: RedisSharedStateError.self) { _ = try parser.next() }
  }
}
