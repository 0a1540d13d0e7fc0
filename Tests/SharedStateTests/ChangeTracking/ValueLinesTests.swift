import Foundation
import OrderedCollections
@testable import SharedState
import Testing

@Suite("ValueLines", .timeLimit(.minutes(5)))
struct ValueLinesTests {
  private enum Payment {
    case none
    case card(number: String, year: Int)
    case voucher(String)
  }

  private struct Item {
    var name: String
    var tags: Set<String> = []
  }

  private struct Order {
    var items: [Item] = []
    var payment = Payment.none
    var note: String?
    var prices: [String: Int] = [:]
  }

  private func differences<Value>(_ first: Value, _ second: Value) -> [String]? {
    ValueLines.difference(first, second, .monospaced)?.components(separatedBy: "\n")
  }

  @Test("Each part of a value is one line with its path")
  func linePerPart() {
    let order = Order(
      items: [Item(name: "Pear\n", tags: ["ripe", "green"]), Item(name: "")],
      payment: .card(number: "1", year: 2),
      note: "Quick",
      prices: ["Pear": 3, "Apple": 2]
    )
    #expect(
      ValueLines.text(of: order) == #"""
        items[0].name: "Pear\n"
        items[0].tags[]: "green"
        items[0].tags[]: "ripe"
        items[1].name: ""
        items[1].tags: Set([])
        payment.card.number: "1"
        payment.card.year: 2
        note: "Quick"
        prices["Apple"]: 2
        prices["Pear"]: 3
        """#
    )
  }

  @Test("A value without parts is one line, and a tuple has one line per element")
  func valueWithoutParts() {
    #expect(ValueLines.text(of: 1) == "1")
    #expect(ValueLines.text(of: "a") == "\"a\"")
    #expect(ValueLines.text(of: Payment.none) == "none")
    #expect(ValueLines.text(of: Payment.voucher("a")) == "voucher: \"a\"")
    #expect(ValueLines.text(of: Int?.none) == "nil")
    #expect(ValueLines.text(of: (1, two: 2)) == ".0: 1\ntwo: 2")
    #expect(ValueLines.text(of: [Int]()) == "[]")
  }

  /// The lines are the same in any process, so they contain no address, and no order that depends on the process.
  @Test("Lines contain no addresses and do not depend on the order inside a set")
  func reproducibleLines() {
    struct Empty {}
    final class Object {}
    #expect(ValueLines.text(of: Empty()) == "Empty()")
    #expect(ValueLines.text(of: [Object(), Object()]) == "[0]: Object\n[1]: Object")
    #expect(ValueLines.text(of: Data([1, 2, 3])) == "Data(AQID)")
    let keys = (0..<100).map { $0 }
    let text = ValueLines.text(of: Set(keys))
    for _ in 0..<10 { #expect(ValueLines.text(of: Set(keys.shuffled())) == text) }
    #expect(ValueLines.text(of: OrderedSet([2, 1])) == "[0]: 2\n[1]: 1")
    #expect(ValueLines.text(of: OrderedDictionary(uniqueKeysWithValues: [(2, 0), (1, 0)])) == "[2]: 0\n[1]: 0")
  }

  @Test("Foundation values are shown by their contents")
  func foundationValues() throws {
    let zero = "00000000-0000-0000-0000-000000000000"
    let url = try #require(URL(string: "https://example.com/a"))
    let decimal = try #require(Decimal(string: "1.5"))
    let uuid = try #require(UUID(uuidString: zero))
    #expect(ValueLines.text(of: url) == "https://example.com/a")
    #expect(ValueLines.text(of: decimal) == "1.5")
    #expect(ValueLines.text(of: Date(timeIntervalSinceReferenceDate: 0.5)).hasSuffix("0.5"))
    #expect(ValueLines.text(of: uuid) == zero)
  }

  @Test("A share is shown as its wrappedValue")
  func shareAsValue() {
    #expect(ValueLines.text(of: [Shared(value: 1)]) == "[0].wrappedValue: 1")
  }

  @Test("An object that refers to itself is shown once")
  func selfReferringObject() {
    class Base { var name = "a" }
    final class Node: Base { var next: Node? }
    let node = Node()
    node.next = node
    #expect(ValueLines.text(of: node) == "name: \"a\"\nnext: Node, as above")
    node.next = nil
  }

  @Test("A difference consists of the lines that differ")
  func differingLines() {
    let order = Order(items: [Item(name: "Pear"), Item(name: "Plum")], prices: ["Pear": 3])
    #expect(differences(order, order) == nil)
    var other = order
    other.items[1].name = "Fig"
    other.payment = .voucher("b")
    #expect(
      differences(order, other) == [
        #"- items[1].name: "Plum""#, #"+ items[1].name: "Fig""#, "- payment: none", #"+ payment.voucher: "b""#,
      ]
    )
  }
}
