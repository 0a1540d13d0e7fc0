import Testing

@testable import SharedStateMacroExpansion

// Golden files and SwiftSyntax prove correct parses; `make check-macros` compares the parser with SwiftSyntax.

@Suite("The parser of declarations", .timeLimit(.minutes(5)))
struct ParserTests {
  private func error(_ text: String) -> ParsingError? {
    do throws(ParsingError) {
      _ = try Parser.declaration(in: text)
      return nil
    } catch {
      return error
    }
  }

  @Test(
    "Text that is not a declaration is refused where it goes wrong",
    arguments: [
      ("", 0), ("}", 0), ("enum", 4), ("struct {", 7), ("enum A { case", 7), ("enum A { case }", 14),
      ("enum A { case a( }", 15), ("enum A { case a(Int = ) }", 22), ("enum A { case a = }", 18),
      ("enum A {} enum B {}", 10), ("enum A { let }", 13), ("enum A<T {}", 9), ("enum A { #if A\n case a }", 23),
      ("enum A: {}", 8), ("enum A where T {}", 15), ("enum A { case a(Int String) }", 20), ("enum A { @ case a }", 16),
      ("enum A { var a = a ? b }", 23), ("enum A { var a = #if A\n.b }", 21), ("enum A { nothing }", 9),
      ("enum A { case a(\"\\( }", 16), ("enum A { case a = \"b }", 18), ("enum A { var a = if a }", 22),
      ("enum A { var a: }", 16), ("enum A { case a([`b\n: c]) }", 17),
    ]
  )
  func refused(_ text: String, _ offset: Int) {
    #expect(error(text)?.offset == offset, "\(String(describing: error(text)))")
  }

  @Test("A source that is nested too deeply is refused")
  func depth() {
    let count = 10_000
    #expect(error(String(repeating: "enum A { ", count: count) + String(repeating: "}", count: count)) != nil)
    let type = String(repeating: "A<", count: count) + "B" + String(repeating: ">", count: count)
    #expect(error("enum A { case a(\(type)) }") != nil)
    let conditions = String(repeating: "#if A\n", count: count) + String(repeating: "#endif\n", count: count)
    #expect(error("enum A { \(conditions) }") != nil)
    let strings = String(repeating: "\"\\(", count: count)
    #expect(error("enum A { let a = \(strings) }") != nil)
    #expect(error("enum A { let a = \(String(repeating: "a ? ", count: count)) }") != nil)
  }

  @Test("The tokens and the text between them make up the whole source", arguments: GoldenFile.all)
  func tokens(_ file: GoldenFile) {
    let source = Source(file.declaration)
    var end = 0
    for token in source.tokens {
      #expect(token.range.lowerBound >= end)
      #expect(token.hasSpaceBefore == (token.range.lowerBound > end || end == 0))
      end = token.range.upperBound
    }
    #expect(end == source.bytes.count)
  }
}
