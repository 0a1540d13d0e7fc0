import SharedState
import Synchronization
import Testing

@Suite("Tracking of remote changes", .timeLimit(.minutes(5)))
struct RemoteChangeTests {
  @Test("An unasserted remote change fails at the line that makes the tracker")
  func unassertedRemoteChange() async throws {
    let line: UInt = #line + 3
    let failures = await FailureRecorder.failures {
      let key = RemoteKey()
      let tracker = SharedChangeTracker()
      await tracker.track {
        let count = Shared(wrappedValue: 0, key)
        await Task.detached { key.remote.send(5) }.value
        #expect(count.wrappedValue == 5)
      }
      #expect(tracker.hasChanges)
    }
    #expect(failures.map(\.line) == [line])
    #expect(failures.first?.message.contains("'Shared<Int>(RemoteKey(count))@\(#fileID):\(line + 2)'") == true)
    #expect(failures.first?.message.contains("  − 0\n  + 5\n") == true)
  }

  @Test("A remote change is asserted by its share")
  func assertedRemoteChange() async {
    let key = RemoteKey()
    let tracker = SharedChangeTracker()
    await tracker.track {
      let count = Shared(wrappedValue: 0, key)
      await Task.detached { key.remote.send(5) }.value
      count.assert { $0 = 5 }
    }
    #expect(!tracker.hasChanges)
  }

  @Test("Loading a stored value is not a change")
  func loadedValue() {
    let tracker = SharedChangeTracker()
    tracker.track {
      let count = Shared(wrappedValue: 0, RemoteKey(stored: 42))
      #expect(count.wrappedValue == 42)
    }
    #expect(!tracker.hasChanges)
  }
}

/// A key whose value a test changes as if from elsewhere.
struct RemoteKey: SharedKey, CustomStringConvertible {
  final class Remote: Sendable {
    private let subscribers = Mutex<[SharedSubscriber<Int>]>([])

    func add(_ subscriber: SharedSubscriber<Int>) {
      subscribers.withLock { $0.append(subscriber) }
    }

    func send(_ value: Int) {
      for subscriber in subscribers.withLock({ $0 }) { subscriber.yield(value) }
    }
  }

  let remote = Remote()
  var stored: Int?

  var id: ObjectIdentifier { ObjectIdentifier(remote) }
  var description: String { "RemoteKey(count)" }

  func load(context: LoadContext<Int>, continuation: LoadContinuation<Int>) {
    if let stored { continuation.resume(returning: stored) } else { continuation.resumeReturningInitialValue() }
  }

  func subscribe(context: LoadContext<Int>, subscriber: SharedSubscriber<Int>) -> SharedSubscription {
    remote.add(subscriber)
    return SharedSubscription {}
  }

  func save(_ value: Int, context: SaveContext, continuation: SaveContinuation) {
    continuation.resume()
  }
}
