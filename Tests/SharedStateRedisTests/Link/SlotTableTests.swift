import SharedStateDependencies
@testable import SharedStateRedis
import Testing

@Suite("A slot table", .timeLimit(.minutes(5)))
struct SlotTableTests {
  @Test("A slot table finds inserted elements, changes them in place and forgets removed ones")
  func basics() {
    var table = SlotTable<String>()
    #expect(table.isEmpty)
    let (first, second) = (table.insert("a"), table.insert("b"))
    table[first]?.append("!")
    #expect(table[first] == "a!")
    #expect(table.remove(second) == "b")
    #expect(table.remove(second) == nil)
    table[second]?.append("!")
    #expect(table[second] == nil)
    #expect(table.ids == [first])
    #expect(Array(table.elements) == ["a!"])
    #expect(table[UInt64.max] == nil)
  }

  @Test("A slot table never reuses the number of a removed element")
  func numbers() {
    var table = SlotTable<Int>()
    var model: [UInt64: Int] = [:]
    var seen: Set<UInt64> = []
    var random = SplitMix64(seed: 1)
    for step in 0..<2_000 {
      if model.isEmpty || Bool.random(using: &random) {
        let id = table.insert(step)
        #expect(seen.insert(id).inserted)
        model[id] = step
      } else if let id = model.keys.sorted().randomElement(using: &random) {
        #expect(table.remove(id) == model.removeValue(forKey: id))
      }
      #expect(table.isEmpty == model.isEmpty)
    }
    #expect(Set(table.ids) == Set(model.keys))
    for (id, element) in model { #expect(table[id] == element) }
  }
}
