import Foundation
@testable import SharedStateRedis
import Testing

@Suite("RedisParser", .timeLimit(.minutes(5)))
struct RedisParserTests {
  private let parser = RedisParser()

  private func feed(_ text: String) throws {
    try Array(text.utf8).withUnsafeBytes { (bytes) throws in try parser.feed(bytes) }
  }

  @Test("Every kind of reply is read")
  func replyKinds() throws {
    try feed("+OK\r\n-ERR no\r\n:-7\r\n$3\r\na\r\n\r\n$-1\r\n*-1\r\n*3\r\n$1\r\nx\r\n*1\r\n:1\r\n$0\r\n\r\n")
    var reply = try #require(try parser.next())
    #expect(reply.kind == .status && reply.isEqual(to: "OK") && !reply.isEqual(to: "OKAY"))
    reply = try #require(try parser.next())
    #expect(reply.kind == .error && reply.string == "ERR no")
    reply = try #require(try parser.next())
    #expect(reply.kind == .integer && reply.integer == -7)
    reply = try #require(try parser.next())
    #expect(reply.kind == .string && reply.data == Data("a\r\n".utf8))
    for _ in 0..<2 {
      reply = try #require(try parser.next())
      #expect(reply.kind == .null && reply.count == 0 && reply.bytes.isEmpty)
    }
    reply = try #require(try parser.next())
    #expect(reply.count == 3 && reply[0].string == "x" && reply[1][0].integer == 1 && reply[2].data.isEmpty)
    #expect(try parser.next() == nil)
  }

  @Test("Replies that arrive byte by byte are read")
  func byteByByte() throws {
    var found: [String] = []
    for byte in "*2\r\n$5\r\nhello\r\n+there\r\n$2\r\nme\r\n" {
      try feed(String(byte))
      while let reply = try parser.next() {
        found.append(reply.kind == .array ? "\(reply[0].string) \(reply[1].string)" : reply.string)
      }
    }
    #expect(found == ["hello there", "me"])
  }

  @Test(
    "Input that does not follow the protocol is a protocol violation",
    arguments: ["HTTP/1.1 400 Bad Request\r\n", "$x\r\n", "?\r\n"]
  )
  func malformedInput(text: String) throws {
    try feed(text)
    let error = #expect(throws: RedisSharedStateError.self) { _ = try parser.next() }
    guard error?.code == .protocolViolation else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  @Test("Arrays that are nested too deeply are refused")
  func deepArrays() throws {
    try feed(String(repeating: "*1\r\n", count: 12))
    #expect(throws: RedisSharedStateError.self) { _ = try parser.next() }
  }
}
