import SharedState
import Testing

@Suite("Elements under concurrent changes", .timeLimit(.minutes(5)))
struct ElementConcurrencyTests {
  private static let rounds = 2_000

  /// Eight elements are incremented through their shares, while other tasks insert, remove and reorder elements.
  @Test("Concurrent increments of elements are neither lost nor applied to another element")
  func concurrentIncrements() async {
    struct Counter: Identifiable {
      let id: Int
      var value = 0
    }
    @Shared(value: IdentifiedArray(uniqueElements: (0..<8).map { Counter(id: $0) })) var counters
    await withTaskGroup { group in
      for id in 0..<4 {
        let element = $counters.elements[id]
        group.addTask {
          for _ in 0..<Self.rounds { element.withLock { $0.value += 1 } }
        }
      }
      for id in 4..<6 {
        let value = Shared($counters[id: id])?.value
        group.addTask {
          for _ in 0..<Self.rounds { value?.withLock { $0 += 1 } }
        }
      }
      group.addTask { [$counters] in
        for round in 0..<Self.rounds {
          $counters.withLock {
            $0.insert(Counter(id: 100 + round % 5), at: round % $0.count)
            $0.remove(id: 100 + (round + 2) % 5)
          }
        }
      }
      group.addTask { [$counters] in
        for round in 0..<Self.rounds {
          $counters.withLock { $0.swapAt(round % $0.count, (round * 7) % $0.count) }
          _ = $counters.elements.map(\.wrappedValue.value)
        }
      }
    }
    for id in 0..<6 { #expect(counters[id: id]?.value == Self.rounds) }
    #expect(counters.filter { $0.id >= 100 }.allSatisfy { $0.value == 0 })
  }

  /// Elements appear and vanish while all of them are read and written.
  @Test("Shares of vanishing elements never show another element")
  func vanishingElements() async {
    @Shared(value: []) var todos: IdentifiedArrayOf<Todo>
    $todos.withLock { $0.append(contentsOf: (0..<4).map { Todo($0, "\($0)") }) }
    let elements = $todos.elements
    let wrong = await withTaskGroup(of: Int.self) { group in
      for task in 0..<8 {
        group.addTask { [$todos] in
          var wrong = 0
          for round in 0..<Self.rounds {
            let id = (task + round) % 4
            switch task % 4 {
            case 0: $todos.withLock { _ = $0.remove(id: id) }
            case 1: $todos.withLock { _ = $0.insert(Todo(id, "\(id)"), at: $0.startIndex) }
            case 2: elements[id].withLock { wrong += $0.id == id ? 0 : 1 }
            default: wrong += elements[id].wrappedValue.title == "\(id)" ? 0 : 1
            }
          }
          return wrong
        }
      }
      return await group.reduce(0, +)
    }
    #expect(wrong == 0)
  }

  /// The same with indices of a plain array, which becomes shorter and longer.
  @Test("Shares of array indices remain valid while the array shrinks and grows")
  func shrinkingArray() async {
    @Shared(value: [0, 0, 0, 0]) var numbers
    let elements = $numbers.elements
    await withTaskGroup { group in
      for task in 0..<8 {
        group.addTask { [$numbers] in
          for round in 0..<Self.rounds {
            switch task % 2 {
            case 0: elements[round % 4].withLock { $0 += 1 }
            default: $numbers.withLock { $0 = [Int](repeating: 0, count: round % 5) }
            }
            _ = elements[(task + round) % 4].wrappedValue
          }
        }
      }
    }
    $numbers.withLock { $0 = [1, 2, 3, 4] }
    #expect(elements.map(\.wrappedValue) == [1, 2, 3, 4])
  }
}
