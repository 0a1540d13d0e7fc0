import Configuration
import SharedStateTesting
import Synchronization
import Testing

/// What a provider has to do when its document changes. The suite of swift-configuration checks a provider only at rest.
struct WatchedChangesContract {
  let provider: any ConfigProvider
  /// Stores another document, and returns once the provider has it.
  let change: @Sendable (_ document: String) async throws -> Void

  /// A key for each type of value, with two values of that type, as they are in a document and as they are read.
  private static let cases: [(key: String, type: ConfigType, documents: [String], contents: [ConfigContent])] = [
    ("string", .string, [#""a""#, #""b""#], [.string("a"), .string("b")]),
    ("int", .int, ["1", "2"], [.int(1), .int(2)]),
    ("double", .double, ["1.5", "2.5"], [.double(1.5), .double(2.5)]),
    ("bool", .bool, ["true", "false"], [.bool(true), .bool(false)]),
    ("bytes", .bytes, [#""AQ==""#, #""Ag==""#], [.bytes([1]), .bytes([2])]),
    ("strings", .stringArray, [#"["a"]"#, #"["a","b"]"#], [.stringArray(["a"]), .stringArray(["a", "b"])]),
    ("ints", .intArray, ["[1]", "[1,2]"], [.intArray([1]), .intArray([1, 2])]),
    ("doubles", .doubleArray, ["[1.5]", "[]"], [.doubleArray([1.5]), .doubleArray([])]),
    ("bools", .boolArray, ["[true]", "[false]"], [.boolArray([true]), .boolArray([false])]),
    ("chunks", .byteChunkArray, [#"["AQ=="]"#, #"["Ag=="]"#], [.byteChunkArray([[1]]), .byteChunkArray([[2]])]),
  ]

  private static func document(_ index: Int) -> String {
    "{" + cases.map { #""\#($0.key)":\#($0.documents[index])"# }.joined(separator: ",") + "}"
  }

  private static func document(count: Int) -> String { #"{"count":\#(count),"other":{"text":"same"}}"# }

  func check() async throws {
    try await inTime("changes of every type") { try await everyTypeIsWatched() }
    try await inTime("a value to go and to come") { try await absenceIsWatched() }
    try await inTime("equal documents") { try await equalDocumentsWakeNobody() }
    try await inTime("changes in order") { try await orderIsKept() }
    try await inTime("the newest document") { try await aSlowWatcherGetsTheNewest() }
    try await inTime("the end of a watch") { try await aWatcherEndsWithItsTask() }
  }

  private func everyTypeIsWatched() async throws {
    for (key, type, _, contents) in Self.cases {
      try await change(Self.document(0))
      try await provider.watchValue(forKey: AbsoluteConfigKey([key]), type: type) { updates in
        var updates = updates.makeAsyncIterator()
        let before = try await updates.next()?.get().value?.content
        #expect(before == contents[0], "\(key)")
        try await change(Self.document(1))
        let after = try await updates.next()?.get().value?.content
        #expect(after == contents[1], "\(key)")
      }
    }
  }

  private func absenceIsWatched() async throws {
    try await change(Self.document(count: 1))
    try await provider.watchValue(forKey: "count", type: .int) { updates in
      var updates = updates.makeAsyncIterator()
      let present = try await updates.next()?.get()
      #expect(present?.value == 1)
      try await change("{}")
      let absent = try await updates.next()?.get()
      #expect(absent != nil && absent?.value == nil)
      // A value of another type is an error, and the watch goes on.
      try await change(#"{"count":"many"}"#)
      if case .success(let result)? = try await updates.next() { Issue.record("\(result)") }
      try await change(Self.document(count: 2))
      let again = try await updates.next()?.get()
      #expect(again?.value == 2)
    }
  }

  private func equalDocumentsWakeNobody() async throws {
    try await change(Self.document(count: 1))
    try await recordingCounts { counts in
      for round in 0..<20 {
        try await eventually("the first value") { counts() == [1] }
        let space = String(repeating: " ", count: round % 2)
        try await change(#"{"other":{"text":\#(space)"s\u0061me"},"count":\#(space)1}"#)
      }
      try await change(Self.document(count: 2))
      try await eventually("the second value") { counts().last == 2 }
      #expect(counts() == [1, 2])
    }
  }

  private func orderIsKept() async throws {
    try await change(Self.document(count: 0))
    try await recordingCounts { counts in
      for count in 1...50 { try await change(Self.document(count: count)) }
      try await eventually("the last value") { counts().last == 50 }
      #expect(counts() == counts().sorted())
      #expect(Set(counts()).count == counts().count)
    }
  }

  private func aSlowWatcherGetsTheNewest() async throws {
    try await change(Self.document(count: 1))
    try await provider.watchValue(forKey: "count", type: .int) { updates in
      var updates = updates.makeAsyncIterator()
      let first = try await updates.next()?.get()
      #expect(first?.value == 1)
      for count in 2...4 { try await change(Self.document(count: count)) }
      let next = try await updates.next()?.get()
      #expect(next?.value == 4)
    }
    try await provider.watchSnapshot { updates in
      var updates = updates.makeAsyncIterator()
      _ = try await updates.next()
      for count in 5...7 { try await change(Self.document(count: count)) }
      let next = try await updates.next()?.value(forKey: "count", type: .int)
      #expect(next?.value == 7)
    }
  }

  private func aWatcherEndsWithItsTask() async throws {
    let begun = Atomic(false)
    let watch = Task {
      try await provider.watchValue(forKey: "count", type: .int) { updates in
        for await _ in updates { begun.store(true, ordering: .releasing) }
      }
    }
    try await eventually("the watch begins") { begun.load(ordering: .acquiring) }
    watch.cancel()
    try await watch.value
  }

  /// Watches the count by its value, and by the snapshot. Both have to see the same.
  private func recordingCounts(_ body: (_ counts: @escaping @Sendable () -> [Int]) async throws -> Void) async throws {
    let (values, snapshots) = (Recording(), Recording())
    try await withThrowingTaskGroup { group in
      group.addTask {
        try await provider.watchValue(forKey: "count", type: .int) { updates in
          for await update in updates {
            if case .int(let count)? = try update.get().value?.content { values.append(count) }
          }
        }
      }
      group.addTask {
        try await provider.watchSnapshot { updates in
          for await snapshot in updates {
            let value = try snapshot.value(forKey: "count", type: .int).value
            if case .int(let count)? = value?.content { snapshots.append(count) }
          }
        }
      }
      try await body { values.all }
      try await eventually("the last snapshot") { snapshots.all.last == values.all.last }
      #expect(snapshots.all == Set(snapshots.all).sorted())
      group.cancelAll()
    }
  }
}

/// Numbers that a task has seen.
private final class Recording: Sendable {
  private let numbers = Mutex<[Int]>([])

  var all: [Int] { numbers.withLock { $0 } }

  func append(_ number: Int) { numbers.withLock { $0.append(number) } }
}
