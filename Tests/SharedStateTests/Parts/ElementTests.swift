import OrderedCollections
import SharedState
import Testing

@Suite("Shares of elements", .timeLimit(.minutes(5)))
struct ElementTests {
  @Shared(value: [Todo(1, "one"), Todo(2, "two"), Todo(3, "three")]) var todos: IdentifiedArrayOf<Todo>
  @Shared(value: ["a", "b", "c"]) var letters: [String]

  @Test("An identity gives a shared optional that adds and removes its element")
  func elementByIdentity() {
    let second: Shared<Todo?> = $todos[id: 2]
    let fourth = $todos[id: 4]
    #expect(second.wrappedValue == Todo(2, "two"))
    #expect(fourth.wrappedValue == nil)
    fourth.withLock { $0 = Todo(4, "four") }
    second.withLock { $0 = nil }
    #expect(todos.ids == [1, 3, 4])
    second.withLock { $0?.title = "nobody" }
    #expect(todos.ids == [1, 3, 4])
  }

  @Test("The shared optional of an identity unwraps to a share of the element")
  func theSharedOptionalUnwraps() throws {
    let second = try #require(Shared($todos[id: 2]))
    #expect(Shared($todos[id: 4]) == nil)
    second.withLock { $0.title = "zwei" }
    #expect(todos[id: 2]?.title == "zwei")
    let reader = try #require(SharedReader(SharedReader($todos)[id: 2]))
    #expect(reader.wrappedValue.title == "zwei")
    #expect(reader.id == 2)
  }

  @Test("A share of an element follows the element when it moves")
  func movedElement() throws {
    let elements = $todos.elements
    $todos.withLock {
      $0.reverse()
      $0.insert(Todo(0, "zero"), at: 0)
    }
    for element in elements { element.withLock { $0.title += "!" } }
    #expect(todos.elements == [Todo(0, "zero"), Todo(3, "three!"), Todo(2, "two!"), Todo(1, "one!")])
  }

  @Test("A share of a removed element keeps its last value and drops writes until the element returns")
  func removedElement() throws {
    let second = $todos.elements[1]
    $todos.withLock { _ = $0.remove(id: 2) }
    second.withLock { $0.title = "changed" }
    #expect(second.wrappedValue == Todo(2, "two"))
    #expect(todos.ids == [1, 3])
    $todos.withLock { _ = $0.append(Todo(2, "zwei")) }
    #expect(second.wrappedValue.title == "zwei")
    second.title.withLock { $0 = "deux" }
    #expect(todos[id: 2]?.title == "deux")
  }

  @Test("Arrays of element shares and readers are made from a shared collection")
  func arraysOfElements() {
    let shares = Array($todos)
    let readers = Array(SharedReader($todos))
    let contiguous = ContiguousArray($todos)
    shares[0].withLock { $0.title = "eins" }
    $todos.withLock { $0.swapAt(0, 2) }
    #expect(shares.map(\.wrappedValue.title) == ["eins", "two", "three"])
    #expect(readers.map(\.wrappedValue.title) == ["eins", "two", "three"])
    #expect(contiguous.map(\.id) == [1, 2, 3])
  }

  @Test("A share by index of an identified array follows the element that was at the index")
  func identifiedArrayIndex() {
    let first = $todos[0]
    let reader = SharedReader($todos)[0]
    $todos.withLock { $0.swapAt(0, 2) }
    first.withLock { $0.title = "eins" }
    #expect(todos[id: 1]?.title == "eins")
    #expect(reader.wrappedValue == first.wrappedValue)
  }

  @Test("Elements of a plain array stand for their indices")
  func plainArray() {
    let shares = $letters.elements
    #expect(Array($letters) == shares)
    shares[1].withLock { $0 = "B" }
    #expect(letters == ["a", "B", "c"])
    $letters.withLock { $0.insert("new", at: 0) }
    #expect(shares.map(\.wrappedValue) == ["new", "a", "B"])
  }

  @Test("A share of a missing index keeps its last value and drops writes until the index exists again")
  func missingIndex() {
    let last = $letters[2]
    let reader = SharedReader($letters)[2]
    #expect(reader.wrappedValue == "c")
    $letters.withLock { $0.removeLast(2) }
    last.withLock { $0 = "C" }
    #expect(letters == ["a"])
    #expect(last.wrappedValue == "c")
    #expect(reader.wrappedValue == "c")
    $letters.withLock { $0 = ["x", "y", "z"] }
    last.withLock { $0 += "!" }
    #expect(letters == ["x", "y", "z!"])
    #expect(reader.wrappedValue == "z!")
  }

  @Test("A reader of a read-only collection has elements, which keep their last values")
  func readOnlyCollection() {
    @Shared(value: 3) var count
    let range = $count.read { 0..<$0 }
    let elements = Array(range)
    #expect(elements.map(\.wrappedValue) == [0, 1, 2])
    $count.withLock { $0 = 1 }
    #expect(elements.map(\.wrappedValue) == [0, 1, 2])
    #expect(range.elements.count == 1)
  }

  @Test("The values of a dictionary are shared optionals")
  func dictionaryValues() throws {
    @Shared(value: ["a": 1]) var numbers
    let first = $numbers["a"]
    let second = $numbers["b"]
    second.withLock { $0 = 2 }
    try #require(Shared(first)).withLock { $0 += 10 }
    #expect(numbers == ["a": 11, "b": 2])
  }

  @Test("An element of a removed element keeps its last value and drops writes")
  func elementsOfElements() throws {
    let tag = try #require(Shared($todos[id: 1])).tags
    tag.withLock { $0 = ["x", "y"] }
    let second = tag[1]
    second.withLock { $0 = "Y" }
    #expect(todos[id: 1]?.tags == ["x", "Y"])
    $todos.withLock { _ = $0.remove(id: 1) }
    second.withLock { $0 = "dropped" }
    #expect(second.wrappedValue == "Y")
  }

  @Test("A change to an element notifies its observers and those of the collection")
  func notifiedObservers() {
    let element = $todos[1]
    let ofElement = ChangeCounter { _ = element.wrappedValue }
    let ofCollection = ChangeCounter { [$todos] in _ = $todos.wrappedValue }
    element.withLock { $0.title = "zwei" }
    #expect(ofElement.count == 1)
    #expect(ofCollection.count == 1)
  }

  @Test("Changing an element does not copy the collection")
  func uncopiedCollection() {
    let numbers = Shared(value: [[Int]](repeating: [Int](repeating: 0, count: 100), count: 3))
    let outer = numbers.withLock { $0.withUnsafeBufferPointer { $0.baseAddress } }
    numbers[1].withLock { $0[7] = 1 }
    numbers.elements[1].withLock { $0[8] = 1 }
    #expect(numbers.withLock { $0.withUnsafeBufferPointer { $0.baseAddress } } == outer)
    #expect(numbers.wrappedValue[1][7] == 1)
    #expect(numbers.wrappedValue[1][8] == 1)
  }
}
