import Foundation
import SharedState
import SharedStateDependencies
import Testing

@Suite("IdentifiedArray against a naive model", .timeLimit(.minutes(5)))
struct IdentifiedArrayModelTests {
  @Test("An identified array matches a naive model in random operations", arguments: 0..<20 as Range<UInt64>)
  func randomOperations(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var array: IdentifiedArrayOf<Todo> = []
    var model = NaiveIdentifiedArray()
    for step in 0..<500 {
      let operation = Int.random(in: 0..<20, using: &random)
      Self.perform(operation, on: &array, and: &model, random: &random)
      #expect(array.elements == model.elements, "operation \(operation), step \(step)")
      #expect(Array(array.ids) == model.elements.map(\.id))
      #expect(Array(array) == model.elements)
      for id in 0..<24 {
        #expect(array.index(id: id) == model.index(id: id))
        #expect(array[id: id] == model[id: id])
      }
    }
  }

  private static func perform(
    _ operation: Int,
    on array: inout IdentifiedArrayOf<Todo>,
    and model: inout NaiveIdentifiedArray,
    random: inout SplitMix64
  ) {
    let element = Todo(Int.random(in: 0..<24, using: &random), "\(UInt16.random(in: 0...999, using: &random))")
    let end = model.elements.count
    let position = Int.random(in: 0...end, using: &random)
    let range = Int.random(in: 0...position, using: &random)..<position
    let others = (0..<4).map { _ in Todo(Int.random(in: 0..<24, using: &random), "other") }
    switch operation {
    case 0:
      let expected = model.insert(element, at: end)
      #expect(array.append(element) == expected)
    case 1, 2:
      let expected = model.insert(element, at: position)
      #expect(array.insert(element, at: position) == expected)
    case 3:
      let expected = model.updateOrInsert(element, at: end).originalMember
      #expect(array.updateOrAppend(element) == expected)
    case 4:
      let expected = model.updateOrInsert(element, at: position)
      #expect(array.updateOrInsert(element, at: position) == expected)
    case 5:
      let expected = model[id: element.id]
      model[id: element.id] = nil
      #expect(array.remove(id: element.id) == expected)
    case 6:
      model[id: element.id] = element
      array[id: element.id] = element
    case 7:
      model[id: element.id] = nil
      array[id: element.id] = nil
    case 8:
      model[id: element.id]?.title = "changed"
      array[id: element.id]?.title = "changed"
    case 9:
      model.elements.removeAll { $0.id % 5 == element.id % 5 }
      array.removeAll { $0.id % 5 == element.id % 5 }
    case 10:
      model.replaceSubrange(range, with: others)
      array.replaceSubrange(range, with: others)
    case 11:
      model.replaceSubrange(end..<end, with: others)
      array += others
    case 12:
      model.replaceSubrange(position..<position, with: others)
      array.insert(contentsOf: others, at: position)
    case 13:
      model.elements.removeSubrange(range)
      array.removeSubrange(range)
    case 14:
      let source = Set((0..<end).filter { _ in Bool.random(using: &random) })
      model.move(source, to: position)
      array.move(fromOffsets: IndexSet(source), toOffset: position)
    case 15:
      model.elements.reverse()
      array.reverse()
    case 16:
      // Identities are unique, so both sorts have only one possible result.
      model.elements.sort { $0.id > $1.id }
      array.sort { $0.id > $1.id }
    case 17:
      var copy = random
      model.elements.shuffle(using: &random)
      array.shuffle(using: &copy)
    case 18:
      guard end > 0 else { return }
      let (first, second) = (position % end, element.id % end)
      model.elements.swapAt(first, second)
      array.swapAt(first, second)
    default:
      guard end > 0 else { return }
      let expected = model.elements.remove(at: position % end)
      #expect(array.remove(at: position % end) == expected)
    }
  }
}
