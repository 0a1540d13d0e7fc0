import Foundation
import Testing

@testable import SharedState

@Suite("The forms of values", .timeLimit(.minutes(5)))
struct FormTests {
  struct Item: Codable, Hashable, Identifiable {
    var id: Int
    var name = "n"
  }

  enum Payment: Codable { case card(number: Int), cash, other(String) }

  struct Shop: Codable {
    var items = [Item(id: 2), Item(id: 1)]
    var tags: Set<String> = ["b", "a"]
    var stock = [UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)): 1]
    var payment = Payment.card(number: 1)
    var visits: MergingCounter = 7
    var plain = [1, 2]
  }

  private func name(_ form: Form?) -> String? {
    switch form {
    case .map: "map"
    case .set: "set"
    case .list: "list"
    case .enumeration: "enumeration"
    case .leaf: "leaf"
    case .mergeable: "mergeable"
    case nil: nil
    }
  }

  @Test(
    "Lists, sets, dictionaries, enums and counters have forms of their own",
    arguments: [JSONEncoder.OutputFormatting(), .sortedKeys]
  )
  func formPerKind(
    _ formatting: JSONEncoder.OutputFormatting
  ) throws {
    let forms = try Coders { encoder, _ in encoder.outputFormatting = formatting }.forms(Shop()).mapValues(name)
    #expect(
      forms == [
        #"[{"id":2,"name":"n"},{"id":1,"name":"n"}]"#: "list",
        #"["a","b"]"#: "set",
        #"{"00000000-0000-0000-0000-000000000000":1}"#: "map",
        #"{"card":{"number":1}}"#: "enumeration",
        "7": "mergeable",
      ]
    )
  }

  @Test("Cases without labels are enumerations, and optionals are not")
  func otherEnumsAreEnumerations() throws {
    #expect(try Coders().forms([Payment.cash]).mapValues(name) == [#"{"cash":{}}"#: "enumeration"])
    #expect(try Coders().forms([Payment.other("x")]).mapValues(name) == [#"{"other":{"_0":"x"}}"#: "enumeration"])
    #expect(try Coders().forms([Int?.none]).isEmpty)
  }

  @Test("The form of a list reads the identities of elements")
  func listsKnowTheirIdentities() throws {
    let coders = try Coders()
    guard case .list(let form) = try coders.forms([Item(id: 2), Item(id: 1)]).values.first else {
      Issue.record("An array of identifiable elements must be a list.")
      return
    }
    #expect(form.identities == [Identity(2), Identity(1)])
    let other = try document(#"[{"name":"x","id":5,"new":true},{"name":1}]"#)
    #expect(form.read(other, 1)?.identity == Identity(5))
    #expect(form.read(other, Int(other.nodes[1].next)) == nil)
  }

  @Test("The form of a set reads the identity and canonical text of an element")
  func setForm() throws {
    let coders = try Coders()
    guard case .set(let form) = try coders.forms(Set([Item(id: 1)])).values.first else {
      Issue.record("A set must have its form.")
      return
    }
    let reading = form.read(try document(#"{ "name": "n", "id": 1.0, "x": 2 }"#), 0)
    #expect(reading?.identity == form.identities.first)
    #expect(reading.map { String(decoding: $0.text, as: UTF8.self) } == #"{"id":1,"name":"n"}"#)
  }

  @Test("The form of a dictionary reads the identities and canonical texts of keys")
  func mapsReadTheirKeys() throws {
    let coders = try Coders()
    let uuid = UUID()
    guard case .map(let form) = try coders.forms([uuid: 1]).values.first else {
      Issue.record("A dictionary must have its form.")
      return
    }
    let other = try document("{\"\(uuid.uuidString.lowercased())\":1,\"x\":2}")
    #expect(form.read(other, 1)?.identity == Identity(uuid))
    #expect(form.read(other, 3) == nil)
    guard case .map(let numbers) = try coders.forms([7: 1]).values.first else {
      Issue.record("A dictionary of numbers must have its form.")
      return
    }
    #expect(numbers.read(try document(#"{"07":1}"#), 1)?.identity == Identity(7))
    #expect(numbers.read(try document(#"{"07":1}"#), 1)?.text == Array("7".utf8))
  }

  @Test("Changes of a counter on both sides add up")
  func talliesAddUp() throws {
    let coders = try Coders()
    guard case .mergeable(let merge) = try coders.forms([MergingCounter(5)]).values.first else {
      Issue.record("A counter must have its form.")
      return
    }
    let (five, six, nine, text) = (try document("5"), try document("6"), try document("9"), try document("\"x\""))
    #expect(merge(MergeableValues(base: (five, 0), mine: (six, 0), theirs: (nine, 0)))?.merged == Array("10".utf8))
    #expect(merge(MergeableValues(base: nil, mine: (six, 0), theirs: (nine, 0)))?.merged == Array("15".utf8))
    #expect(merge(MergeableValues(base: (five, 0), mine: (six, 0), theirs: (text, 0))) == nil)
  }
}
