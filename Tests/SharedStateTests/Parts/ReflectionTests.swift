import CustomDump
import Foundation
import Observation
import SharedState
import SharedStateDependencies
import Testing

struct Inner { var count = 0 }

struct Outer {
  var inner = Inner()
  var optional: Inner? = Inner()
  var todos: IdentifiedArrayOf<Todo> = [Todo(7)]
  var numbers = [1]
  var sum: Int { numbers.reduce(0, +) }
}

@Suite("Descriptions and conformances of shares", .timeLimit(.minutes(5)))
struct ReflectionTests {
  struct State: Equatable {
    @Shared var count: Int
    @SharedReader var name: String
  }

  private let state = State(count: Shared(value: 42), name: SharedReader(value: "Blob"))

  @Test("The description of a share without a key shows the value")
  func valueInDescription() {
    #expect(state.$count.description == "Shared<Int>(value: 42)")
    #expect(state.$name.description == #"SharedReader<String>(value: "Blob")"#)
    #expect("\(state.$count)" == "Shared<Int>(value: 42)")
  }

  @Test("The description of a share names its key")
  func keyInDescription() {
    let url = URL(fileURLWithPath: "/a b.json")
    #expect(Shared(wrappedValue: 0, .inMemory("count")).description == #"Shared<Int>(.inMemory("count"))"#)
    #expect(Shared(wrappedValue: 0, .appStorage("count")).description == #"Shared<Int>(.appStorage("count"))"#)
    #expect(Shared(wrappedValue: 0, .fileStorage(url)).description == "Shared<Int>(.fileStorage(file:///a%20b.json))")
    #expect(SharedReader(wrappedValue: 0, .inMemory("count")).description == #"SharedReader<Int>(.inMemory("count"))"#)
    let withDefault = InMemoryKey<Int>.Default[.inMemory("count"), default: 0]
    #expect("\(withDefault)" == #".inMemory("count")"#)
    #expect(Shared(withDefault).description == #"Shared<Int>(.inMemory("count"))"#)
    #expect(Shared(wrappedValue: 0, RemoteKey()).description == "Shared<Int>(RemoteKey(count))")
  }

  @Test("The description of a derived share shows the path from its key")
  func pathInDescription() {
    let outer = Shared(wrappedValue: Outer(), .inMemory("outer"))
    func way(_ share: some CustomStringConvertible, _ type: String) -> String? {
      let (prefix, suffix) = (#"\#(type)(.inMemory("outer")"#, ")")
      guard share.description.hasPrefix(prefix), share.description.hasSuffix(suffix) else { return nil }
      return String(share.description.dropFirst(prefix.count).dropLast(suffix.count))
    }
    #expect(
      way(outer.inner.count, "Shared<Int>") == #"[dynamicMember: \Outer.inner][dynamicMember: \Inner.count]"#
    )
    // Not every platform gives the name of a computed property.
    #expect(way(outer.sum, "SharedReader<Int>")?.hasPrefix(#"[dynamicMember: \Outer."#) == true)
    #expect(way(outer.numbers[0], "Shared<Int>") == #"[dynamicMember: \Outer.numbers][0]"#)
    #expect(way(outer.todos[id: 7], "Shared<Optional<Todo>>") == #"[dynamicMember: \Outer.todos][id: 7]"#)
    #expect(way(outer.todos[0], "Shared<Todo>") == #"[dynamicMember: \Outer.todos][id: 7]!"#)
    #expect(Shared(outer.optional).flatMap { way($0, "Shared<Inner>") } == #"[dynamicMember: \Outer.optional]!"#)
    #expect(way(outer.read { $0.sum }, "SharedReader<Int>") == ".read(…)")
  }

  @Test("A dump shows the value but not how it is shared")
  func plainDump() {
    var text = ""
    dump(state, to: &text)
    #expect(text.contains("_count: Shared<Int>(value: 42)"))
    #expect(text.contains("wrappedValue: 42"))
    #expect(text.contains("wrappedValue: \"Blob\""))
    #expect(!text.contains("rojection"))
  }

  @Test("A custom dump shows only the value")
  func plainCustomDump() {
    #expect(String(customDumping: state.$count) == "42")
    #expect(String(customDumping: state).hasSuffix("(\n  _count: 42,\n  _name: \"Blob\"\n)"))
  }

  @Test("A custom dump distinguishes shares with equal values")
  func distinctShares() {
    let (first, second) = (Shared(value: 0), Shared(value: 0))
    #expect(
      String(customDumping: [first, second, second, Shared(projectedValue: first)]) == """
        [
          [0]: 0,
          [1]: #1 0,
          [2]: #1 Int(↩︎),
          [3]: Int(↩︎)
        ]
        """
    )
    let pair = Shared(value: [1, 2])
    let elements = pair.elements
    #expect(String(customDumping: elements + [elements[1]]).hasSuffix("[1]: #1 2,\n  [2]: #1 Int(↩︎)\n]"))
  }

  @Test("A custom dump distinguishes shares with different keys")
  func distinctKeys() {
    withDependencies {
      $0.defaultInMemoryStorage = InMemoryStorage()
    } operation: {
      @Shared(.inMemory("first")) var first = 0
      @Shared(.inMemory("second")) var second = 0
      @Shared(.inMemory("second")) var secondAgain = 0
      #expect(
        String(customDumping: [$first, $second, $secondAgain]) == """
          [
            [0]: 0,
            [1]: #1 0,
            [2]: #1 Int(↩︎)
          ]
          """
      )
    }
  }

  @Test("A diff shows the old and new values")
  func valuesInDiff() throws {
    let other = State(count: Shared(value: 43), name: SharedReader(value: "Blob"))
    let difference = try #require(diff(state, other))
    #expect(difference.contains("-   _count: 42,"))
    #expect(difference.contains("+   _count: #1 43,"))
  }

  @Test("Shares are equal when their values are equal")
  func equalValues() {
    let other = State(count: Shared(value: 42), name: SharedReader(value: "Blob"))
    #expect(state == other)
    other.$count.withLock { $0 += 1 }
    #expect(state != other)
    state.$count.withLock { $0 += 1 }
    #expect(state == other)
  }

  @Test("A share of an identifiable value has the value's identity")
  func identityOfValue() {
    let todo = Shared(value: Todo(7))
    #expect(todo.id == 7)
    #expect(SharedReader(todo).id == 7)
  }

  @Test("Shares and readers are Observable and Sendable")
  func observableAndSendable() {
    func accept(_ value: some Observable & Sendable) {}
    accept(state.$count)
    accept(state.$name)
  }

  /// The value may change at any time, and its source of truth is elsewhere. The seeds give the reason for leaving this
  /// out.
  @Test("Shares and readers are neither Hashable nor Codable")
  func absentConformances() {
    let share: Any = state.$count
    #expect(!(share is any Hashable))
    #expect(!(share is any Encodable))
    #expect(!(share is any Decodable))
    let reader: Any = state.$name
    #expect(!(reader is any Hashable))
    #expect(!(reader is any Encodable))
    #expect(!(reader is any Decodable))
  }
}
