import Foundation
import Logging
import SharedState
import SharedStateRedis
import SharedStateRedisTesting
import Synchronization
import Testing

@Suite("Two shares with different options", .timeLimit(.minutes(5)), .endsStores)
struct OptionsTests {
  /// The name of each option in a report, and options that differ from the default in it alone.
  private static let others: [(name: String, words: [String], options: RedisSharedKey<Int>.Options)] = [
    ("conflict policy", ["merge", "reject"], .init(conflict: .reject)),
    ("removal policy", ["the later one wins", "the removal wins"], .init(removal: .removalWins)),
    ("time to live", ["for ever", "60.0 seconds"], .init(timeToLive: .seconds(60))),
    ("limit to its size", ["1048576 bytes", "10 bytes"], .init(maximumBytes: 10)),
    ("arrays for dictionaries", ["off", "on"], .init(usesArraysForDictionaries: true)),
    ("rules", ["none", "some"], .init(validate: { _ in })),
    ("detection of external edits", ["on", "off"], .init(detectsForeignEdits: false)),
    ("strictness", ["off", "on"], .init(isStrict: true)),
    (
      "policy for unreadable members", ["hold the document", "keep the last value"],
      .init(unreadableMembers: .keepLast)
    ),
  ]

  @Test("Differing options record one test issue per name and option, and the first share's options apply")
  func inATest() async throws {
    let backend = FakeBackend()
    let journal = Journal()
    let store = try backend.store(logger: journal.logger("service"))
    for (index, other) in Self.others.enumerated() {
      let name = "value:\(index)"
      let first = Shared(wrappedValue: 0, .redis(name, store: store))
      // A custom encoder does not count as a difference.
      _ = Shared(wrappedValue: 0, .redis(name, store: store, options: .init(encoder: JSONEncoder())))
      withKnownIssue {
        _ = Shared(wrappedValue: 0, .redis(name, store: store, options: other.options))
      } matching: { issue in
        let text = issue.comments.map(\.rawValue).joined()
        return ([name, other.name] + other.words).allSatisfy(text.contains)
      }
      // A second share with the same difference is not reported again.
      _ = SharedReader(wrappedValue: 0, .redis(name, store: store, options: other.options))
      first.withLock { $0 = 12_345_678_901 }
      try await first.save()
      #expect(backend.timeToLive(of: name) == nil)
    }
    #expect(journal.entries.allSatisfy { $0.level < .warning })
  }

  @Test("A later share with several differing options is reported and causes no load error")
  func many() async throws {
    let store = try FakeBackend().store()
    let first = Shared(wrappedValue: 0, .redis("value", store: store, options: .init(conflict: .lastWriteWins)))
    let reported = Mutex("")
    withKnownIssue {
      _ = Shared(wrappedValue: 0, .redis("value", store: store, options: .init(conflict: .merge, maximumBytes: 10)))
    } matching: { issue in
      reported.withLock { $0 += issue.comments.map(\.rawValue).joined() }
      return true
    }
    let text = reported.withLock(\.self)
    #expect(text.contains("conflict policy: 'last write wins' by the first share"))
    #expect(text.contains("limit to its size"))
    #expect(first.loadError == nil)
  }

  @Test("Differing options are logged once as a warning where no test is current")
  func inTheLog() async throws {
    let journal = Journal()
    let store = try FakeBackend().store(logger: journal.logger("service"))
    let first = Shared(wrappedValue: 0, .redis("value", store: store))
    let isDone = DispatchSemaphore(value: 0)
    // A new thread does not know the current test.
    Thread.detachNewThread {
      for _ in 1...3 {
        _ = Shared(wrappedValue: 0, .redis("value", store: store, options: .init(timeToLive: .seconds(60))))
      }
      isDone.signal()
    }
    #expect(isDone.waitInTime())
    let entries = journal.entries("time to live", name: "value")
    #expect(entries.map(\.level) == [.warning])
    #expect(entries.first?.message.contains("'for ever' by the first share") == true)
    #expect(entries.first?.message.contains("'60.0 seconds' by a later one") == true)
    withExtendedLifetime(first) {}
  }

  @Test("Differing options are accepted in another store, under another name, or after the first share is released")
  func otherwise() async throws {
    let backend = FakeBackend()
    let stores = (try backend.store("first"), try backend.store("second"))
    let options = RedisSharedKey<Int>.Options(timeToLive: .seconds(60))
    var first = Optional(Shared(wrappedValue: 0, .redis("value", store: stores.0)))
    try await first?.load()
    let shares = [
      Shared(wrappedValue: 0, .redis("value", store: stores.1, options: options)),
      Shared(wrappedValue: 0, .redis("another", store: stores.0, options: options)),
    ]
    first = nil
    let again = Shared(wrappedValue: 0, .redis("value", store: stores.0, options: options))
    again.withLock { $0 = 1 }
    try await again.save()
    #expect(backend.timeToLive(of: "value") != nil)
    withExtendedLifetime(shares) {}
  }
}
