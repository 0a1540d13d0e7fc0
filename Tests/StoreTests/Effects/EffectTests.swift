import Foundation
import SharedStateDependencies
import SharedStateStore
import SharedStateTesting
import Testing

/// A store whose actions are effects, and whose state collects the numbers that they send.
private func makeStore() -> Store<[Int], Act> {
  Store(initialState: []) {
    Reduce { state, action in
      switch action {
      case .number(let number):
        state.append(number)
        return .none
      case .effect(let make):
        return make()
      }
    }
  }
}

private enum Act: Sendable {
  case number(Int)
  case effect(@Sendable () -> Effect<Act>)
}

extension Effect<Act> {
  /// Waits until the gate is opened, and then sends a number unless it is cancelled.
  fileprivate static func waiting(for gate: Gate, _ number: Int) -> Self {
    .run { send in
      await gate.wait()
      await send(.number(number))
    }
  }

  /// Passes on its function that sends, and ends when its id, "sending", is cancelled.
  fileprivate static func sending(_ start: @escaping @Sendable (Send<Act>) -> Void) -> Self {
    .subscription { send, _ in
      start(send)
      return {}
    }
    .cancellable(id: "sending")
  }
}

@Suite("Effects of a store", .timeLimit(.minutes(5)))
struct EffectTests {
  @Test("Merged effects run at the same time")
  func merge() async throws {
    let store = makeStore()
    let (first, second) = (Gate(), Gate())
    let task = store.send(
      .effect {
        .merge(
          .run { send in
            await first.wait()
            await send(.number(1))
          },
          .run { send in
            await send(.number(2))
            second.open()
          }
        )
      }
    )
    try await inTime("the second effect") { await second.wait() }
    #expect(store.state == [2])
    first.open()
    try await inTime("both effects") { await task.finish() }
    #expect(store.state == [2, 1])
  }

  @Test("Each concatenated effect begins when the one before has ended")
  func concatenate() async throws {
    let store = makeStore()
    let gate = Gate()
    let task = store.send(
      .effect {
        .concatenate(
          .send(.number(1)),
          .concatenate(.waiting(for: gate, 2), .merge(.run { await $0(.number(3)) }, .send(.number(4)))),
          .send(.number(5))
        )
      }
    )
    #expect(store.state == [1])
    gate.open()
    try await inTime("all effects") { await task.finish() }
    #expect(store.state.prefix(2) == [1, 2])
    #expect(store.state.dropFirst(2).sorted() == [3, 4, 5])
    #expect(store.state.last == 5)
  }

  @Test("The rest of a cancelled concatenation does not begin", arguments: [true, false])
  func cancelConcatenation(byID: Bool) async throws {
    let store = makeStore()
    let task = store.send(
      .effect {
        .concatenate(.waiting(for: Gate(), 1), .send(.number(2)), .run { await $0(.number(3)) }).cancellable(id: "all")
      }
    )
    if byID { store.send(.effect { .cancel(id: "all") }) } else { task.cancel() }
    try await inTime("the end") { await task.finish() }
    #expect(store.state.isEmpty)
  }

  @Test("If only a part of a concatenation is cancelled, the next one begins")
  func cancelPart() async throws {
    let store = makeStore()
    let task = store.send(
      .effect { .concatenate(.waiting(for: Gate(), 1).cancellable(id: "part"), .send(.number(2))) }
    )
    store.send(.effect { .cancel(id: "part") })
    try await inTime("the end") { await task.finish() }
    #expect(store.state == [2])
  }

  @Test("An effect with several ids is cancelled by each of them", arguments: ["inner", "outer"])
  func nestedIDs(id: String) async throws {
    let store = makeStore()
    let task = store.send(
      .effect { .waiting(for: Gate(), 1).cancellable(id: "inner").cancellable(id: "outer") }
    )
    store.send(.effect { .cancel(id: id) })
    try await inTime("the end") { await task.finish() }
    #expect(store.state.isEmpty)
  }

  @Test("cancelInFlight ends effects that already have the id")
  func cancelInFlight() async throws {
    let store = makeStore()
    let gate = Gate()
    let first = store.send(.effect { .waiting(for: gate, 1).cancellable(id: 1, cancelInFlight: true) })
    let second = store.send(.effect { .waiting(for: gate, 2).cancellable(id: 1, cancelInFlight: true) })
    try await inTime("the end of the first") { await first.finish() }
    gate.open()
    try await inTime("the end of the second") { await second.finish() }
    #expect(store.state == [2])
  }

  @Test("An effect that has the same id twice does not cancel itself")
  func sameIDTwice() async throws {
    let store = makeStore()
    let gate = Gate()
    let first = store.send(
      .effect {
        .waiting(for: gate, 1).cancellable(id: 1, cancelInFlight: true).cancellable(id: 1, cancelInFlight: true)
      }
    )
    let second = store.send(
      .effect {
        .merge(.waiting(for: gate, 2), .send(.number(3)))
          .cancellable(id: 1, cancelInFlight: true).cancellable(id: 2).cancellable(id: 1, cancelInFlight: true)
      }
    )
    try await inTime("the end of the first") { await first.finish() }
    gate.open()
    try await inTime("the end of the second") { await second.finish() }
    #expect(store.state == [3, 2])
  }

  @Test("Once the reducer has returned a cancellation, no action of the effect is reduced")
  func lateActions() async throws {
    for _ in 0..<300 {
      let store = makeStore()
      let hasBegun = Gate()
      let task = store.send(
        .effect {
          .run { send in
            hasBegun.open()
            while !Task.isCancelled {
              await send(.number(1))
              // Other tests need the thread.
              await Task.yield()
            }
          }
          .cancellable(id: 1)
        }
      )
      try await inTime("the effect") { await hasBegun.wait() }
      store.send(.effect { .cancel(id: 1) })
      let count = store.state.count
      try await inTime("the end") { await task.finish() }
      #expect(store.state.count == count)
    }
  }

  @Test("An action that an effect has sent inside the reducer that cancels the effect is not reduced")
  func actionBesideCancellation() async throws {
    let store = makeStore()
    let sends = Locked<[Send<Act>]>([])
    let task = store.send(.effect { .sending { send in sends.change { $0.append(send) } } })
    store.send(
      .effect {
        for send in sends.value { send.now(.number(1)) }
        return .merge(.cancel(id: "sending"), .send(.number(2)))
      }
    )
    try await inTime("the end") { await task.finish() }
    #expect(sends.value.count == 1)
    #expect(store.state == [2])
  }

  @Test("An action that an effect has sent from another thread while its cancellation was reduced is not reduced")
  func actionDuringCancellation() async throws {
    let store = makeStore()
    let sends = Locked<[Send<Act>]>([])
    let task = store.send(.effect { .sending { send in sends.change { $0.append(send) } } })
    let other = makeStore()
    let hasSent = DispatchSemaphore(value: 0)
    store.send(
      .effect {
        Thread.detachNewThread {
          // Inside the reducer of another store, an action for a busy store is left in its mailbox.
          other.send(
            .effect {
              for send in sends.value { send.now(.number(1)) }
              return .none
            }
          )
          hasSent.signal()
        }
        #expect(hasSent.waitInTime())
        return .cancel(id: "sending")
      }
    )
    try await inTime("the end") { await task.finish() }
    store.send(.number(2))
    #expect(sends.value.count == 1)
    #expect(store.state == [2])
  }

  @Test("Task.cancel and withTaskCancellation know the ids of their feature")
  func taskCancellation() async throws {
    let store = makeStore()
    let hasBegun = Gate()
    let task = store.send(
      .effect {
        .run { send in
          await withTaskCancellation(id: 1) {
            hasBegun.open()
            await Gate().wait()
            await send(.number(1))
          }
          await send(.number(2))
        }
      }
    )
    try await inTime("the operation") { await hasBegun.wait() }
    store.send(.effect { .run { _ in Task.cancel(id: 1) } })
    try await inTime("the end") { await task.finish() }
    #expect(store.state == [2])
  }

  @Test("Operations outside of effects are cancelled by their ids, too")
  func taskCancellationOutside() async throws {
    let hasBegun = Gate()
    let task = Task {
      await withTaskCancellation(id: "EffectTests.outside") {
        hasBegun.open()
        await Gate().wait()
        return Task.isCancelled
      }
    }
    try await inTime("the operation") { await hasBegun.wait() }
    Task.cancel(id: "EffectTests.outside")
    #expect(try await inTime("the end") { await task.value })
  }

  @Test("Two stores do not share their ids")
  func twoStores() async throws {
    let (first, second) = (makeStore(), makeStore())
    let gate = Gate()
    let task = first.send(.effect { .waiting(for: gate, 1).cancellable(id: 1) })
    second.send(.effect { .cancel(id: 1) })
    gate.open()
    try await inTime("the end") { await task.finish() }
    #expect(first.state == [1])
  }

  @Test("An effect has the dependencies that were in force where it was made")
  func dependencies() async throws {
    let store = withDependencies {
      $0.context = .live
    } operation: {
      makeStore()
    }
    let task = store.send(
      .effect {
        withDependencies {
          $0.number = 7
        } operation: {
          let made = Effect<Int>.run { send in
            @Dependency(\.number) var number
            await send(number)
          }
          return made.map { .number($0) }
        }
      }
    )
    try await inTime("the end") { await task.finish() }
    #expect(store.state == [7])
  }

  @Test("The handler of an error can send actions")
  func errors() async throws {
    struct Failure: Error {}
    let store = makeStore()
    let task = store.send(
      .effect {
        .run { _ in
          throw Failure()
        } catch: { error, send in
          await send(.number(error is Failure ? 1 : 2))
        }
      }
    )
    try await inTime("the end") { await task.finish() }
    #expect(store.state == [1])
  }

  @Test("An unhandled error is reported with the feature")
  func unhandledError() async {
    struct Failure: Error {}
    await withKnownIssue {
      let store = Store<Int, Int>(initialState: 0) {
        Reduce { _, _ in .run { _ in throw Failure() } }
      }
      await store.send(0).finish()
    } matching: { issue in
      issue.text == "An effect of 'Reduce<Int, Int>' threw an error without a handler: Failure()"
    }
  }

  @Test("Sending after the effect has ended is reported with the feature and the action")
  func late() async throws {
    let sent = Gate()
    try await withKnownIssue {
      let store = Store<Int, Int>(initialState: 0) {
        Reduce { state, action in
          state += action
          guard action == 0 else { return .none }
          return .run { send in
            Task {
              await Gate.turn()
              await send(1)
              sent.open()
            }
          }
        }
      }
      await store.send(0).finish()
      try await inTime("the late action") { await sent.wait() }
      #expect(store.state == 0)
    } matching: { issue in
      issue.text?.hasPrefix(
        """
        An action was sent to the store of 'Reduce<Int, Int>' by an effect that had ended:

            1
        """
      ) == true
    }
  }

  @Test("Sending to a released store is reported with the feature and the action")
  func released() async throws {
    let isReleased = Gate()
    let sent = Gate()
    try await withKnownIssue {
      do {
        let store = Store<Int, Int>(initialState: 0) {
          Reduce { _, _ in
            .run { send in
              Task {
                await isReleased.wait()
                await send(1)
                sent.open()
              }
            }
          }
        }
        await store.send(0).finish()
      }
      isReleased.open()
      try await inTime("the late action") { await sent.wait() }
    } matching: { issue in
      issue.text?.hasPrefix(
        """
        An effect sent an action to the store of 'Reduce<Int, Int>', which has been released:

            1
        """
      ) == true
    }
  }

  @Test("A single cancellation ends ten thousand effects")
  func manyEffects() async throws {
    let store = makeStore()
    let tasks = (0..<10_000).map { number in
      store.send(.effect { .waiting(for: Gate(), number).cancellable(id: "all").cancellable(id: number) })
    }
    store.send(.effect { .cancel(id: "all") })
    try await inTime("the end") { for task in tasks { await task.finish() } }
    #expect(store.state.isEmpty)
  }
}

extension Gate {
  /// Lets other tasks run; some of them end.
  static func turn() async {
    for _ in 0..<20 { await Task.yield() }
  }
}

private enum NumberKey: DependencyKey {
  static let liveValue = 0
  static let testValue = 0
}

extension DependencyValues {
  fileprivate var number: Int {
    get { self[NumberKey.self] }
    set { self[NumberKey.self] = newValue }
  }
}
