import Foundation
import Observation
import SharedState
import Synchronization
import Testing

@testable import SharedStateStore

@ObservableState
private struct Child: Equatable, Sendable {
  var count = 0
  var name = ""
  @ObservationStateIgnored var ignored = 0
  var observed = 0 {
    didSet { log.append(oldValue) }
  }
  @ObservationStateIgnored var log: [Int] = []

  mutating func replace(with other: Self) { self = other }
}

@ObservableState
private struct Parent: Sendable {
  var child = Child()
  var sibling = Child()
  var optional: Child?
  var rows: [Child] = []
  var destination = Destination.none
  var plain = Plain()
}

private struct Plain: Sendable { var value = 0 }

@ObservableState
private struct Row: Identifiable {
  let id: Int
  var count = 0
}

@ObservableState
private struct Table {
  var rows: IdentifiedArray<Int, Row> = [Row(id: 1), Row(id: 2)]
}

@ObservableState
@CasePathable
private enum Destination: Sendable {
  case none
  case child(Child)
  case labelled(state: Child)
  case plain(Int)
}

@ObservableState
private struct Coded: Codable, Equatable {
  var count = 0
  var `default` = "a"
  let id: Int
}

@ObservableState
private struct Generic<Value: Sendable & Equatable> {
  var value: Value
}

@Suite("The observation of a state", .timeLimit(.minutes(5)))
struct ObservationTests {
  @Test("A reader of a property is notified of its changes, and of no others")
  func properties() {
    var state = Child()
    let count = Observer(state.count)
    let name = Observer(state.name)
    state.count += 1
    #expect(count.hasHeard)
    #expect(!name.hasHeard)
    state.name = "a"
    #expect(name.hasHeard)
  }

  @Test("Setting a property to an equal value is no change")
  func equal() {
    var state = Child()
    let count = Observer(state.count)
    state.count = 0
    #expect(!count.hasHeard)
    state.count = 1
    #expect(count.hasHeard)
  }

  @Test("A property without equality changes whenever it is set")
  func plain() {
    var state = Parent()
    let set = Observer(state.plain)
    state.plain = Plain()
    #expect(set.hasHeard)
    let modified = Observer(state.plain.value)
    state.plain.value = 1
    #expect(modified.hasHeard)
  }

  @Test("An ignored property notifies no reader")
  func ignored() {
    var state = Child()
    let ignored = Observer(state.ignored)
    state.ignored = 1
    #expect(!ignored.hasHeard)
  }

  @Test("A property's willSet and didSet are called, too")
  func propertyObservers() {
    var state = Child()
    state.observed = 1
    state.observed += 1
    #expect(state.log == [0, 1])
  }

  @Test("A change inside a child is no change of the child")
  func childInPlace() {
    var state = Parent()
    let child = Observer(state.child)
    let count = Observer(state.child.count)
    let name = Observer(state.child.name)
    state.child.count += 1
    #expect(!child.hasHeard)
    #expect(count.hasHeard)
    #expect(!name.hasHeard)
  }

  @Test("Another child is a change of the child")
  func anotherChild() {
    var state = Parent()
    let child = Observer(state.child)
    let sibling = Observer(state.sibling)
    state.child = Child()
    #expect(child.hasHeard)
    #expect(!sibling.hasHeard)
    let reset = Observer(state.child)
    state.child.replace(with: Child())
    #expect(reset.hasHeard)
  }

  @Test("The same child again is no change")
  func sameChild() {
    var state = Parent()
    let child = Observer(state.child)
    let same = state.child
    state.child = same
    #expect(!child.hasHeard)
  }

  @Test("A copy that is changed and put back changes only what was changed")
  func copyMutateAssign() {
    var state = Parent()
    let child = Observer(state.child)
    let count = Observer(state.child.count)
    let name = Observer(state.child.name)
    var copy = state.child
    copy.count += 1
    state.child = copy
    #expect(count.hasHeard)
    #expect(!child.hasHeard)
    #expect(!name.hasHeard)
  }

  @Test("Putting an old copy back counts as another child")
  func oldCopy() {
    var state = Parent()
    let old = state.child
    state.child.count += 1
    let child = Observer(state.child)
    let count = Observer(state.child.count)
    state.child = old
    #expect(child.hasHeard)
    #expect(count.hasHeard)
    #expect(state.child.count == 0)
  }

  @Test("A child that becomes an old copy of itself counts as another child")
  func replacedByCopy() {
    var state = Parent()
    var copy = state.child
    copy.count = 1
    let count = Observer(state.child.count)
    state.child.replace(with: copy)
    #expect(count.hasHeard)
  }

  @Test("A copy that was changed before the child was read counts as another child")
  func changedCopy() {
    var state = Parent()
    var copy = state.child
    copy.count = 1
    let count = Observer(state.child.count)
    state.child = copy
    #expect(count.hasHeard)
  }

  @Test("A changed copy that replaces another changed copy counts as another child")
  func twoCopies() {
    var state = Parent()
    var copy = state.child
    state.child.count = 1
    let count = Observer(state.child.count)
    copy.name = "a"
    state.child = copy
    #expect(count.hasHeard)
    #expect(state.child.count == 0)
  }

  @Test("Putting an old copy of an element back notifies readers of the difference")
  func oldElement() {
    var table = Table()
    let old = table.rows
    table.rows[id: 1]?.count = 1
    let byID = Observer(table.rows[id: 1]?.count)
    table.rows[id: 1] = old[id: 1]
    #expect(byID.hasHeard)
    table.rows[id: 1]?.count = 2
    let whole = Observer(table.rows[id: 1]?.count)
    table.rows = old
    #expect(whole.hasHeard)
    var parent = Parent()
    parent.rows = [Child()]
    let oldRow = parent.rows[0]
    parent.rows[0].count = 1
    let row = Observer(parent.rows[0].count)
    parent.rows[0] = oldRow
    #expect(row.hasHeard)
  }

  @Test("Two children that change places count as other children")
  func swap() {
    var state = Parent()
    let child = Observer(state.child)
    let sibling = Observer(state.sibling)
    (state.child, state.sibling) = (state.sibling, state.child)
    #expect(child.hasHeard)
    #expect(sibling.hasHeard)
  }

  @Test("An optional child changes when it appears and disappears")
  func optional() {
    var state = Parent()
    let comes = Observer(state.optional)
    state.optional = Child()
    #expect(comes.hasHeard)
    let stays = Observer(state.optional)
    let count = Observer(state.optional?.count)
    state.optional?.count += 1
    #expect(!stays.hasHeard)
    #expect(count.hasHeard)
    let goes = Observer(state.optional)
    state.optional = nil
    #expect(goes.hasHeard)
  }

  @Test("An array changes when it contains other elements")
  func array() {
    var state = Parent()
    let added = Observer(state.rows)
    state.rows.append(Child())
    #expect(added.hasHeard)
    let rows = Observer(state.rows)
    let count = Observer(state.rows[0].count)
    state.rows[0].count += 1
    #expect(!rows.hasHeard)
    #expect(count.hasHeard)
    let moved = Observer(state.rows)
    state.rows.append(Child())
    #expect(moved.hasHeard)
    let swapped = Observer(state.rows)
    state.rows.swapAt(0, 1)
    #expect(swapped.hasHeard)
  }

  @Test("An identified array changes when it contains other elements")
  func identifiedArray() {
    var state = Table()
    let rows = Observer(state.rows)
    let count = Observer(state.rows[id: 1]?.count)
    let other = Observer(state.rows[id: 2]?.count)
    state.rows[id: 1]?.count += 1
    #expect(!rows.hasHeard)
    #expect(count.hasHeard)
    #expect(!other.hasHeard)
    state.rows[id: 1] = Row(id: 1)
    #expect(rows.hasHeard)
    let removed = Observer(state.rows)
    state.rows.remove(id: 2)
    #expect(removed.hasHeard)
  }

  @Test("An enum changes with its case and with its associated value")
  func enumeration() {
    var state = Parent()
    let first = Observer(state.destination)
    state.destination = .child(Child())
    #expect(first.hasHeard)
    let within = Observer(state.destination)
    state.destination.modify(\.child) { $0.count += 1 }
    #expect(!within.hasHeard)
    guard case .child(let child) = state.destination else { return }
    let moved = Observer(state.destination)
    state.destination = .labelled(state: child)
    #expect(moved.hasHeard)
    let plain = Observer(state.destination)
    state.destination = .plain(1)
    #expect(plain.hasHeard)
    let none = Observer(state.destination)
    state.destination = .none
    #expect(none.hasHeard)
    let same = Observer(state.destination)
    state.destination = .none
    #expect(!same.hasHeard)
  }

  @Test("A state with a parameter is observed like any other")
  func generic() {
    var state = Generic(value: 1)
    let value = Observer(state.value)
    state.value = 2
    #expect(value.hasHeard)
  }

  @Test("Identities distinguish copies and states")
  func identities() {
    var state = Parent()
    let id = state.child._$id
    let copy = state.child
    state.child.count += 1
    #expect(state.child._$id != copy._$id)
    #expect(id.isContinued(by: state.child._$id))
    #expect(!id.isContinued(by: state.sibling._$id))
    #expect(Destination.none._$id == Destination.none._$id)
    #expect(Destination.child(copy)._$id == Destination.child(copy)._$id)
    #expect(Destination.child(copy)._$id != Destination.labelled(state: copy)._$id)
    #expect(Destination.child(copy)._$id.isContinued(by: Destination.child(state.child)._$id))
    #expect([copy]._$id.isContinued(by: [state.child]._$id))
    #expect(![copy]._$id.isContinued(by: [Child]()._$id))
  }

  @Test("States compare by their properties, and are printed with the names of these")
  func values() throws {
    let state = Coded(id: 1)
    #expect(state == Coded(count: 0, default: "a", id: 1))
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    let data = try encoder.encode(state)
    #expect(String(decoding: data, as: UTF8.self) == #"{"count":0,"default":"a","id":1}"#)
    #expect(try JSONDecoder().decode(Coded.self, from: data) == state)
  }

  @Test("Nothing is prepared for observers before the first one")
  func unobserved() {
    var state = Parent()
    #expect(state.child.count == 0)
    state.child.count += 1
    #expect(!state._$observationRegistrar.subject.isObserved)
    #expect(!state.child._$observationRegistrar.subject.isObserved)
    _ = Observer(state.child.count)
    #expect(state.child._$observationRegistrar.subject.isObserved)
  }

  @Test("Many threads observe and change copies of one state")
  func threads() async {
    let state = Parent()
    let heard = await withTaskGroup(of: Int.self) { group in
      for _ in 0..<8 {
        group.addTask {
          var copy = state
          return (0..<200).count { _ in
            let observer = Observer(copy.child.count)
            copy.child.count += 1
            return observer.hasHeard
          }
        }
      }
      return await group.reduce(0, +)
    }
    #expect(heard == 8 * 200)
  }
}
