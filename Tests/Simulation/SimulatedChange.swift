import SharedState
import SharedStateDependencies
@testable import SharedStateRedis

/// A change that one closure of the program makes to a value.
///
/// The elements of collections have few names, so that the changes of services collide.
enum SimulatedChange {
  case set(SimulatedDocument.Field, Int)
  case add(SimulatedDocument.Item)
  case change(item: Int, n: Int)
  case remove(item: Int)
  case move(item: Int)
  case insert(Int)
  case takeOut(Int)
  case setEntry(String, Int)
  case removeEntry(String)
  case count(Int)

  static let items = 1...4
  static let elements = 1...3
  static let keys = ["a", "b"]

  func apply(to document: inout SimulatedDocument) {
    switch self {
    case .set(let field, let number): document[field] = number
    case .add(let item): document.list?.append(item)
    case .change(let id, let n):
      if let index = document.list?.firstIndex(where: { $0.id == id }) { document.list?[index].n = n }
    case .remove(let id): document.list?.removeAll { $0.id == id }
    case .move(let id):
      guard let index = document.list?.firstIndex(where: { $0.id == id }), let item = document.list?.remove(at: index)
      else { return }
      document.list?.insert(item, at: 0)
    case .insert(let element): document.set?.insert(element)
    case .takeOut(let element): document.set?.remove(element)
    case .setEntry(let key, let number): document.map?[key] = number
    case .removeEntry(let key): document.map?[key] = nil
    case .count(let number): document.sum?.value += number
    }
  }

  /// The fields that the change sets. Removed fields are `null`.
  var fields: [String: String] {
    switch self {
    case .set(let field, let number): [field.key: String(number)]
    case .add(let item): SimulatedDocument.fields(of: item)
    case .change(let id, let n): SimulatedDocument.fields(of: SimulatedDocument.Item(id: id, n: n))
    case .remove(let id):
      SimulatedDocument.fields(of: SimulatedDocument.Item(id: id, n: 0, m: 0, x: 0)).mapValues { _ in Self.none }
    case .insert(let element): [SimulatedDocument.field(of: element): "true"]
    case .takeOut(let element): [SimulatedDocument.field(of: element): Self.none]
    case .setEntry(let key, let number): [SimulatedDocument.field(of: key): String(number)]
    case .removeEntry(let key): [SimulatedDocument.field(of: key): Self.none]
    // The order is not a field, but a move can bring back fields.
    case .move: ["list[]": Self.none]
    case .count: [:]
    }
  }

  /// The number that the change adds to the sum.
  var increment: Int {
    if case .count(let number) = self { number } else { 0 }
  }

  private static let none = "null"

  /// Makes a random change of a value. It leaves alone the elements and entries that earlier pending changes have added
  /// or removed, because undoing an earlier change would leave no change at all.
  static func any(
    of value: SimulatedValue,
    after earlier: [String: String],
    _ random: inout SplitMix64,
    makeNumber: () -> Int
  ) -> SimulatedChange {
    let document = value.document
    func isNew(_ field: String) -> Bool { earlier[field] == nil }
    switch Int.random(in: 0..<12, using: &random) {
    case 0, 1:
      let id = Int.random(in: items, using: &random)
      guard isNew("list[\(id)].n") else { break }
      guard document.list?.contains(where: { $0.id == id }) ?? false else {
        let m = value.release == .present ? makeNumber() : nil
        return .add(SimulatedDocument.Item(id: id, n: makeNumber(), m: m))
      }
      return Bool.random(using: &random) ? .change(item: id, n: makeNumber()) : .remove(item: id)
    case 2:
      if isNew("list[]"), let item = document.list?.dropFirst().randomElement(using: &random) {
        return .move(item: item.id)
      }
    case 3, 4:
      let element = Int.random(in: elements, using: &random)
      guard isNew(SimulatedDocument.field(of: element)) else { break }
      return document.set?.contains(element) ?? false ? .takeOut(element) : .insert(element)
    case 5:
      guard let map = document.map, let key = keys.randomElement(using: &random) else { break }
      guard isNew(SimulatedDocument.field(of: key)), map[key] != nil, Bool.random(using: &random) else {
        return .setEntry(key, makeNumber())
      }
      return .removeEntry(key)
    case 6, 7: return .count(Int.random(in: 1...2, using: &random))
    default: break
    }
    return .set(value.release.settableFields.randomElement(using: &random) ?? .first, makeNumber())
  }
}
