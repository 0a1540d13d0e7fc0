import SharedState
import Testing

@testable import SharedStateRedis

@Suite("Changes that were given up", .timeLimit(.minutes(5)))
struct GivenUpChangesTests {
  @Test("are reported once, in order, and together with those that a flush has learned of itself")
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

  @Test("are forgotten once the value is saved")
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

  @Test("are logged once, even if one is reported twice")
  func reportedTwice() {
    var replica = Replica.live(at: 7, "1")
    let error = RedisSharedStateError.valueTooLarge(name: "flags", bytes: 2, maximumBytes: 1)
    for attempt in 1...2 {
      _ = replica.changed()
      #expect(replica.beginsEncoding() == true)
      let actions = replica.encoded(.failure(error), stamp: 1, operation: .number(UInt64(attempt)))
      #expect(actions.contains(.report(.gaveUp(error))) == (attempt == 1))
      #expect(actions.contains(.status(.saveError(error))))
    }
    _ = replica.changed()
    _ = replica.beginsEncoding()
    #expect(replica.encoded(.failure(error), stamp: 2, operation: .number(3)).contains(.report(.gaveUp(error))))
  }

  @Test("give a flush the name, and a save the reason")
  func waiters() {
    var replica = Replica.live(at: 7, "1")
    _ = replica.changed()
    #expect(replica.flush(waiter: 1) == [])
    _ = replica.save(waiter: 2)
    #expect(replica.beginsEncoding() == true)
    let error = RedisSharedStateError.valueTooLarge(name: "flags", bytes: 2, maximumBytes: 1)
    let actions = replica.encoded(.failure(error), stamp: 1, operation: .number(1))
    #expect(
      actions == [
        .status(.saveError(error)), .report(.gaveUp(error)), .resume([2], error),
        .resume([1], .changesGivenUp(names: ["flags"], further: 0)), .settled,
      ]
    )
  }
}
