import CustomDump
import Observation
import SharedState
import Testing

@Suite(.timeLimit(.minutes(2))) struct ReflectionTests {
  struct State: Equatable {
    @Shared var count: Int
    @SharedReader var name: String
  }

  private let state = State(count: Shared(value: 42), name: SharedReader(value: "Blob"))

  @Test func theDescriptionShowsTheValue() {
    #expect(state.$count.description == "Shared<Int>(42)")
    #expect(state.$name.description == "SharedReader<String>(\"Blob\")")
    #expect("\(state.$count)" == "Shared<Int>(42)")
  }

  @Test func aDumpShowsTheValueAndNotHowItIsShared() {
    var text = ""
    dump(state, to: &text)
    #expect(text.contains("_count: Shared<Int>(42)"))
    #expect(text.contains("wrappedValue: 42"))
    #expect(text.contains("wrappedValue: \"Blob\""))
    #expect(!text.contains("rojection"))
  }

  @Test func aCustomDumpShowsTheValueOnly() {
    #expect(String(customDumping: state.$count) == "42")
    #expect(String(customDumping: state).hasSuffix("(\n  _count: 42,\n  _name: \"Blob\"\n)"))
  }

  @Test func aDifferenceShowsTheValues() throws {
    let other = State(count: Shared(value: 43), name: SharedReader(value: "Blob"))
    let difference = try #require(diff(state, other))
    #expect(difference.contains("-   _count: 42,"))
    #expect(difference.contains("+   _count: 43,"))
  }

  @Test func sharesAreEqualWhenTheirValuesAre() {
    let other = State(count: Shared(value: 42), name: SharedReader(value: "Blob"))
    #expect(state == other)
    other.$count.withLock { $0 += 1 }
    #expect(state != other)
    state.$count.withLock { $0 += 1 }
    #expect(state == other)
  }

  @Test func aShareOfSomethingIdentifiableHasItsIdentity() {
    let todo = Shared(value: Todo(7))
    #expect(todo.id == 7)
    #expect(SharedReader(todo).id == 7)
  }

  @Test func sharesAreObservableAndSendable() {
    func accept(_ value: some Observable & Sendable) {}
    accept(state.$count)
    accept(state.$name)
  }

  /// The value may change at any time and its source of truth is elsewhere: the seeds say why this is left out.
  @Test func sharesAreNeitherHashableNorCodable() {
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
