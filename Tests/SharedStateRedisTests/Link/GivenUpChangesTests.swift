import SharedState
import Testing

@testable import SharedStateRedis

@Suite("Changes that were given up", .timeLimit(.minutes(5)))
struct GivenUpChangesTests {
  @Test("Given-up changes are reported once, sorted by name, together with those that a flush has found")
  func told() {
    var givenUp = GivenUpChanges()
    #expect(givenUp.take(with: [])?.error == nil)
    givenUp.insert("b")
    givenUp.insert("b")
    givenUp.insert("a")
    #expect(givenUp.take(with: ["b", "c"])?.error == .changesGivenUp(names: ["a", "b", "c"], further: 0))
    #expect(givenUp.isEmpty)
    #expect(givenUp.take(with: ["c"])?.error == .changesGivenUp(names: ["c"], further: 0))
  }

  @Test("A given-up change is forgotten once its value is saved")
  func saved() {
    var givenUp = GivenUpChanges()
    givenUp.insert("a")
    givenUp.insert("b")
    givenUp.remove("a")
    #expect(givenUp.take(with: [])?.error == .changesGivenUp(names: ["b"], further: 0))
  }

  @Test("Bounded: of very many, a thousand names are kept, and a hundred are reported")
  func bounded() {
    var givenUp = GivenUpChanges()
    for number in 10_000..<15_000 { givenUp.insert(Name("value:\(number)")) }
    guard case .changesGivenUp(let names, let further)? = givenUp.take(with: [])?.error.cause else {
      Issue.record("No given-up change was reported.")
      return
    }
    #expect(names == (10_000..<10_100).map { "value:\($0)" })
    #expect(further == 4_900)
  }

  @Test("A given-up change is logged once, even if it is reported twice")
  func reportedTwice() {
    var replica = Replica.live(at: 7, "1")
    let error = RedisSharedStateError.valueTooLarge(name: "flags", bytes: 2, maximumBytes: 1)
    for attempt in 1...2 {
      _ = replica.changed()
      #expect(replica.beginsEncoding() == true)
      let actions = replica.encoded(.failure(error), stamp: 1, operation: .number(UInt64(attempt)))
      #expect(actions.contains(.report(.gaveUp(error))) == (attempt == 1))
      #expect(actions.contains(.status(.saveError(error))))
      endShowing(actions, in: &replica, outcome: .shown)
    }
    _ = replica.changed()
    _ = replica.beginsEncoding()
    #expect(replica.encoded(.failure(error), stamp: 2, operation: .number(3)).contains(.report(.gaveUp(error))))
  }

  @Test("A given-up change fails a flush with the value's name and a save with the reason")
  func waiters() {
    var replica = Replica.live(at: 7, "1")
    _ = replica.changed()
    #expect(replica.flush(waiter: 1) == [])
    _ = replica.save(waiter: 2)
    #expect(replica.beginsEncoding() == true)
    let error = RedisSharedStateError.valueTooLarge(name: "flags", bytes: 2, maximumBytes: 1)
    let actions = replica.encoded(.failure(error), stamp: 1, operation: .number(1))
    #expect(actions.dropLast() == [.status(.saveError(error)), .report(.gaveUp(error)), .settled])
    #expect(
      endShowing(actions, in: &replica, outcome: .shown) == [
        .resume([2], error), .resume([1], .changesGivenUp(names: ["flags"], further: 0)),
      ]
    )
  }

  private static let tooLarge = RedisSharedStateError.valueTooLarge(name: "flags", bytes: 2, maximumBytes: 1)

  /// A change that is valid by itself, but not together with the stored document.
  private func discard(_ replica: inout Replica, stamp: UInt64, number: UInt64) -> [Replica.Action] {
    var encoded = Replica.Encoded(stamp: stamp, result: .failure(Self.tooLarge))
    encoded.givesWay = true
    let actions = replica.encoded(encoded, operation: .number(number))
    return actions + endShowing(actions, in: &replica, outcome: .shown)
  }

  @Test(
    "A discarded change fails a save requested while the change was encoded, but no later save",
    arguments: [false, true]
  )
  func saveDuringEncoding(isChangedAgain: Bool) {
    var replica = Replica.live(at: 7, "1")
    _ = replica.changed()
    #expect(replica.beginsEncoding() == true)
    if isChangedAgain { _ = replica.changed() }
    _ = replica.save(waiter: 4, stamp: isChangedAgain ? 2 : 1)
    let actions = discard(&replica, stamp: 1, number: 1)
    #expect(actions.contains(.resume([4], Self.tooLarge)))
    // The later change is still sent, without a waiter.
    let isPending = replica.hasPendingChange
    #expect(isPending || !isChangedAgain)
    let later = replica.save(waiter: 5, stamp: 2)
    #expect(!later.contains(.resume([5], Self.tooLarge)))
  }

  @Test("A discarded change fails the first save after it, unless the program has read the error")
  func saveAfterwards() {
    for isRead in [false, true] {
      var replica = Replica.live(at: 7, "1")
      _ = replica.changed()
      #expect(replica.beginsEncoding() == true)
      _ = discard(&replica, stamp: 1, number: 1)
      // Another error says nothing about this one.
      replica.reports.wasRead(.stopped)
      if isRead { replica.reports.wasRead(Self.tooLarge) }
      let (first, second) = (replica.save(waiter: 4, stamp: 1), replica.save(waiter: 5, stamp: 1))
      #expect(first.contains(.resume([4], Self.tooLarge)) == !isRead)
      #expect(!second.contains(.resume([5], Self.tooLarge)))
    }
  }

  @Test("A discarded change fails the next save only once the box shows the stored value")
  func saveBeforeShowing() {
    var replica = Replica.live(at: 7, "1")
    _ = replica.changed()
    #expect(replica.beginsEncoding() == true)
    var encoded = Replica.Encoded(stamp: 1, result: .failure(Self.tooLarge))
    encoded.givesWay = true
    let actions = replica.encoded(encoded, operation: .number(1))
    let saved = replica.save(waiter: 4, stamp: 1)
    #expect(!saved.contains(.resume([4], Self.tooLarge)))
    #expect(endShowing(actions, in: &replica, outcome: .shown).contains(.resume([4], Self.tooLarge)))
  }
}
