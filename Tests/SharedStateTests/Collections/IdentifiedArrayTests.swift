import CustomDump
import Foundation
import OrderedCollections
import SharedState
import Testing

@Suite("IdentifiedArray", .timeLimit(.minutes(5)))
struct IdentifiedArrayTests {
  private let todos: IdentifiedArrayOf<Todo> = [Todo(1, "one"), Todo(2, "two"), Todo(3, "three")]

  @Test("Initialisers keep the first element of each identity")
  func firstOfEachIdentity() {
    let elements = [Todo(1, "a"), Todo(2, "b"), Todo(1, "c")]
    #expect(IdentifiedArray(elements).elements == [Todo(1, "a"), Todo(2, "b")])
    #expect(IdentifiedArray(elements, id: \.id).elements == [Todo(1, "a"), Todo(2, "b")])
    #expect(IdentifiedArrayOf<Todo>(repeating: Todo(1), count: 3).count == 1)
  }

  @Test("Initialisers combine the elements of one identity with a closure")
  func combinedElements() {
    let elements = [Todo(1, "a"), Todo(2, "b"), Todo(1, "c")]
    let last = IdentifiedArray(elements) { _, last in last }
    #expect(last.elements == [Todo(1, "c"), Todo(2, "b")])
    let joined = IdentifiedArray(elements, id: \.id) { Todo($0.id, $0.title + $1.title) }
    #expect(joined.elements == [Todo(1, "ac"), Todo(2, "b")])
    #expect(throws: CancellationError.self) {
      try IdentifiedArray(elements) { _, _ in throw CancellationError() }
    }
  }

  @Test("Unique elements keep their order")
  func uniqueElementOrder() {
    #expect(IdentifiedArray(uniqueElements: [3, 1, 2], id: \.self).elements == [3, 1, 2])
    #expect(IdentifiedArray(uniqueElements: [Todo(3), Todo(1)]).ids == [3, 1])
    #expect(IdentifiedArray(uncheckedUniqueElements: [Todo(3), Todo(1)]).ids == [3, 1])
    #expect(IdentifiedArray(uncheckedUniqueElements: [3, 1, 2], id: \.self).elements == [3, 1, 2])
    #expect(IdentifiedArrayOf<Todo>().isEmpty)
    #expect(IdentifiedArrayOf<Todo>(minimumCapacity: 10).isEmpty)
    #expect(IdentifiedArray<String, Todo>(id: \.title, minimumCapacity: 10).isEmpty)
  }

  @Test("Any property can serve as the identity")
  func anyPropertyAsIdentity() {
    var todos = IdentifiedArray(uniqueElements: [Todo(1, "one"), Todo(2, "two")], id: \.title)
    #expect(todos[id: "two"] == Todo(2, "two"))
    #expect(!todos.append(Todo(3, "two")).inserted)
    todos.append(contentsOf: [Todo(1, "three"), Todo(1, "one")])
    #expect(todos.ids == ["one", "two", "three"])
    #expect(todos.id(of: Todo(7, "seven")) == "seven")
    #expect(todos.filter { $0.id == 1 }.ids == ["one", "three"])
  }

  private static func identified<ID: Hashable>(_ todos: [Todo], by id: KeyPath<Todo, ID>) -> IdentifiedArray<ID, Todo> {
    IdentifiedArray(uncheckedUniqueElements: todos, id: id)
  }

  @Test("A key path that is not known to be Sendable can serve as the identity")
  func nonSendableKeyPath() async {
    let path: KeyPath<Todo, String> = \.title
    let elements = [Todo(1, "one"), Todo(2, "two"), Todo(3, "one")]
    var empty = IdentifiedArray(id: path)
    empty.append(contentsOf: elements)
    #expect(empty.ids == ["one", "two"])
    #expect(IdentifiedArray(elements, id: path).elements == empty.elements)
    #expect(IdentifiedArray(elements, id: path) { $1 }.elements == [elements[2], elements[1]])
    #expect(IdentifiedArray(uniqueElements: elements.prefix(2), id: path) == empty)
    let titles = Self.identified(Array(elements.prefix(2)), by: path)
    let ids = Self.identified(elements, by: \.id)
    // Nevertheless both can be sent to other threads.
    await withTaskGroup { group in
      for _ in 0..<4 {
        group.addTask { titles.id(of: Todo(4, "four")) == "four" && ids[id: 3]?.title == "one" }
      }
      for await isRight in group { #expect(isRight) }
    }
  }

  @Test("sorted returns an identified array or a plain array, as the context requires")
  func sortedResultType() {
    let todos: IdentifiedArrayOf<Todo> = [Todo(3, "a"), Todo(1, "c"), Todo(2, "b")]
    var kept: IdentifiedArrayOf<Todo> = todos.sorted { $0.id < $1.id }
    #expect(kept.ids == [1, 2, 3])
    kept.append(Todo(1, "d"))
    #expect(kept.count == 3)
    kept = kept.sorted { $0.title < $1.title }
    #expect(kept.ids == [3, 2, 1])
    #expect(todos.sorted { $0.id < $1.id }.ids == [1, 2, 3])
    let plain: [Todo] = todos.sorted { $0.id < $1.id }
    let undecided = todos.sorted { $0.id < $1.id }
    let elements: [Todo] = undecided
    #expect(plain == elements)
    #expect(todos.sorted { $0.id < $1.id } == [Todo(1, "c"), Todo(2, "b"), Todo(3, "a")])
    #expect(throws: CancellationError.self) {
      let _: IdentifiedArrayOf<Todo> = try todos.sorted { _, _ in throw CancellationError() }
    }
  }

  @Test("sorted needs no predicate for comparable elements")
  func sortedWithoutPredicate() {
    let numbers = IdentifiedArray(uniqueElements: [3, 1, 2], id: \.self)
    let kept: IdentifiedArray<Int, Int> = numbers.sorted()
    let plain: [Int] = numbers.sorted()
    #expect(kept.elements == plain)
    #expect(kept.ids == [1, 2, 3])
    #expect(numbers.sorted().map(\.description) == ["1", "2", "3"])
    let share = Shared(value: numbers)
    share.withLock { $0 = $0.sorted() }
    #expect(share.wrappedValue == kept)
  }

  @Test("filter returns an identified array or a plain array, as the context requires")
  func filterKeepsTheType() {
    let odd = todos.filter { $0.id % 2 == 1 }
    #expect(odd.ids == [1, 3])
    let plain: [Todo] = todos.filter { $0.id == 2 }
    #expect(plain == [Todo(2, "two")])
  }

  @Test("An element is changed in place through its identity or its index")
  func changeInPlace() {
    var todos = todos
    todos[id: 2]?.title = "zwei"
    todos[id: 4]?.title = "vier"
    todos[1].tags.append("tag")
    #expect(todos[id: 2]?.title == "zwei")
    #expect(todos[1].tags == ["tag"])
    #expect(todos.ids == [1, 2, 3])
  }

  @Test("An element is replaced by one of another identity")
  func replacedIdentity() {
    var todos = todos
    todos[1] = Todo(4, "four")
    #expect(todos.elements == [Todo(1, "one"), Todo(4, "four"), Todo(3, "three")])
    #expect(todos.ids == [1, 4, 3])
    #expect(todos[id: 2] == nil)
    todos[1] = Todo(4, "vier")
    #expect(todos[id: 4]?.title == "vier")
  }

  /// Acts as generic code, which knows nothing of identities.
  private func permute<Elements: MutableCollection & RandomAccessCollection>(
    _ elements: inout Elements
  ) -> [[Elements.Element]] where Elements.Element == Todo, Elements.Index == Int {
    var seen: [[Todo]] = []
    elements.swapAt(0, 2)
    seen.append(Array(elements))
    elements.sort { $0.title < $1.title }
    seen.append(Array(elements))
    elements.reverse()
    seen.append(Array(elements))
    elements.shuffle()
    seen.append(elements.sorted { $0.id < $1.id })
    _ = elements.partition { $0.id != 2 }
    seen.append([elements[0]])
    return seen
  }

  @Test("Generic code permutes the elements")
  func genericPermutation() {
    var (todos, array) = (todos, todos.elements)
    #expect(permute(&todos) == permute(&array))
    #expect(todos.ids.allSatisfy { todos[id: $0]?.id == $0 })
    #expect(Set(todos.ids) == [1, 2, 3])
  }

  @Test("update and updateOrAppend return the replaced element")
  func updatingReturnsTheOriginal() {
    var todos = todos
    #expect(todos.update(Todo(2, "zwei"), at: 1) == Todo(2, "two"))
    #expect(todos.updateOrAppend(Todo(2, "deux")) == Todo(2, "zwei"))
    #expect(todos.updateOrAppend(Todo(4, "four")) == nil)
    #expect(todos.elements == [Todo(1, "one"), Todo(2, "deux"), Todo(3, "three"), Todo(4, "four")])
  }

  @Test("Elements are removed from both ends")
  func removalFromEnds() {
    var todos = IdentifiedArray(uniqueElements: (0..<8).map { Todo($0) })
    #expect(todos.removeFirst().id == 0)
    #expect(todos.removeLast().id == 7)
    todos.removeFirst(2)
    todos.removeLast(2)
    #expect(todos.ids == [3, 4])
    #expect(todos.remove(Todo(4, "another title"))?.id == 4)
    #expect(todos.popLast()?.id == 3)
    #expect(todos.popLast() == nil)
  }

  @Test("Elements are removed by offsets and ranges")
  func removalByOffsets() {
    var todos = IdentifiedArray(uniqueElements: (0..<8).map { Todo($0) })
    todos.remove(atOffsets: [0, 2, 3, 7])
    #expect(todos.ids == [1, 4, 5, 6])
    todos.removeSubrange(2...)
    #expect(todos.ids == [1, 4])
    todos.removeAll(keepingCapacity: true)
    #expect(todos.isEmpty)
  }

  @Test("A replacement may contain removed elements, and skips duplicates")
  func replacementWithDuplicates() {
    var todos = todos
    todos.replaceSubrange(0..<2, with: [Todo(2, "zwei"), Todo(3, "drei"), Todo(4, "vier"), Todo(4, "quatre")])
    #expect(todos.elements == [Todo(2, "zwei"), Todo(4, "vier"), Todo(3, "three")])
  }

  @Test("Partitioning keeps lookups by identity correct")
  func partitionedLookups() {
    var todos = IdentifiedArray(uniqueElements: (0..<10).map { Todo($0) })
    let pivot = todos.partition { $0.id % 2 == 0 }
    #expect(pivot == 5)
    #expect(todos[..<pivot].allSatisfy { $0.id % 2 == 1 })
    #expect(todos.ids.allSatisfy { todos[id: $0]?.id == $0 })
  }

  @Test("Comparable elements are sorted in place without a predicate")
  func inPlaceSort() {
    var numbers = IdentifiedArray(uniqueElements: [3, 1, 2], id: \.self)
    numbers.sort()
    #expect(numbers.elements == [1, 2, 3])
    numbers.shuffle()
    #expect(Set(numbers) == [1, 2, 3])
  }

  @Test("An identified array is a random-access collection")
  func randomAccess() {
    #expect(todos.indices == 0..<3)
    #expect(todos.map(\.id) == [1, 2, 3])
    #expect(todos.reversed().map(\.id) == [3, 2, 1])
    #expect(todos.last?.id == 3)
    #expect(todos.contains(Todo(2, "two")))
    #expect(!todos.contains(Todo(2, "other")))
    #expect((todos + [Todo(3, "drei"), Todo(4)]).ids == [1, 2, 3, 4])
    #expect(todos.withContiguousStorageIfAvailable { $0.count } == 3)
    #expect(IdentifiedArray(todos[1...]).ids == [2, 3])
  }

  @Test("A change of a copy leaves the original unchanged")
  func copiesAreIndependent() {
    var copy = todos
    copy[id: 1]?.title = "changed"
    copy.remove(id: 2)
    #expect(todos.elements == [Todo(1, "one"), Todo(2, "two"), Todo(3, "three")])
  }

  @Test("Equality depends on the elements and their order, and equal arrays have equal hashes")
  func equalityAndHash() {
    var reversed = todos
    reversed.reverse()
    #expect(todos != reversed)
    reversed.reverse()
    #expect(todos == reversed)
    #expect(Set([todos, reversed]).count == 1)
  }

  @Test("An identified array is described as an array")
  func arrayDescription() {
    let numbers = IdentifiedArray(uniqueElements: [3, 1], id: \.self)
    #expect(numbers.description == "[3, 1]")
    #expect(numbers.debugDescription == "IdentifiedArray<Int, Int>([3, 1])")
    #expect(Mirror(reflecting: numbers).displayStyle == .collection)
    #expect(Mirror(reflecting: numbers).children.map { $0.value as? Int } == [3, 1])
    #expect(String(customDumping: numbers) == "[\n  [0]: 3,\n  [1]: 1\n]")
  }

  @Test("An identified array is encoded and decoded as a plain array")
  func plainArrayCoding() throws {
    let encoder = JSONEncoder()
    #expect(try encoder.encode(IdentifiedArray(uniqueElements: [3, 1], id: \.self)) == Data("[3,1]".utf8))
    let data = try encoder.encode(todos)
    #expect(try JSONDecoder().decode([Todo].self, from: data) == todos.elements)
    #expect(try JSONDecoder().decode(IdentifiedArrayOf<Todo>.self, from: data) == todos)
  }

  @Test("Decoding a duplicate throws an error that contains its index and no value")
  func duplicateWhenDecoding() throws {
    let data = try JSONEncoder().encode([Todo(1, "secret"), Todo(1, "secret")])
    let error = try #require(throws: DecodingError.self) {
      try JSONDecoder().decode(IdentifiedArrayOf<Todo>.self, from: data)
    }
    guard case .dataCorrupted(let context) = error else {
      Issue.record("Another error: \(error)")
      return
    }
    #expect(context.debugDescription.contains("index 1"))
    #expect(!context.debugDescription.contains("secret"))
  }

  @Test("Changing an element in place does not copy its contents")
  func inPlaceWithoutCopy() throws {
    var todos = IdentifiedArray(uniqueElements: [Todo(1)])
    todos[id: 1]?.tags = Array(repeating: "tag", count: 100)
    let before = todos[0].tags.withUnsafeBufferPointer { $0.baseAddress }
    todos[id: 1]?.tags[7] = "changed"
    todos[0].tags[8] = "changed"
    #expect(todos[0].tags.withUnsafeBufferPointer { $0.baseAddress } == before)
  }
}
