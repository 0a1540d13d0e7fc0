import Foundation
@testable import SharedStateRedis
import Testing

@Suite("RedisFormatter", .timeLimit(.minutes(5)))
struct RedisFormatterTests {
  @Test("Strings, arbitrary bytes and numbers are encoded as arguments")
  func argumentKinds() {
    let formatter = RedisFormatter()
    formatter.add { command in
      command.argument("SET")
      command.argument("k\u{e4}y")
      command.argument(Data([0, 13, 10, 255]))
      command.argument(UInt64.max)
      command.argument(UInt64.zero)
      command.argument("")
    }
    let expected =
      Data("*6\r\n$3\r\nSET\r\n$4\r\nk\u{e4}y\r\n$4\r\n".utf8) + Data([0, 13, 10, 255])
      + Data("\r\n$20\r\n18446744073709551615\r\n$1\r\n0\r\n$0\r\n\r\n".utf8)
    #expect(Data(formatter.bytes) == expected)
  }

  @Test("Empty data is encoded as an empty argument")
  func emptyArgument() {
    let formatter = RedisFormatter()
    formatter.add { command in
      command.argument("ECHO")
      command.argument(Data())
    }
    #expect(Data(formatter.bytes) == Data("*2\r\n$4\r\nECHO\r\n$0\r\n\r\n".utf8))
  }

  @Test("Commands keep their order however many bytes are sent in between")
  func commandOrder() {
    let formatter = RedisFormatter()
    var (expected, sent) = (Data(), Data())
    for number in 0..<5_000 {
      let text = String(repeating: "x", count: number % 97)
      formatter.add { $0.argument(text) }
      expected += Data("*1\r\n$\(text.utf8.count)\r\n\(text)\r\n".utf8)
      let count = min(formatter.count, number % 61)
      sent += Data(formatter.bytes.prefix(count))
      formatter.removeFirst(count)
    }
    #expect(sent + Data(formatter.bytes) == expected)
    formatter.removeFirst(formatter.count)
    #expect(formatter.isEmpty)
  }
}
