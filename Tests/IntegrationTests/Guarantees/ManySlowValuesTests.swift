import Dispatch
import Foundation
import SharedState
import SharedStateRedis
import SharedStateRedisTesting
import Synchronization
import Testing

/// No single value is slow enough to be noticed, but all of them together take seconds.
@Suite(
  "The user code of very many values, each a little slow",
  .timeLimit(.minutes(5)),
  .endsStores
)
struct ManySlowValuesTests {
  /// The values of three batches, so that a later change comes in the fourth.
  private static let count = 768

  @Test("Encoding many slightly slow values delays no other value", arguments: BackendKind.allCases)
  func encoding(kind: BackendKind) async throws {
    let pace = Pace()
    defer { pace.end() }
    let backend = try kind.make()
    let way = Way()
    let store = try backend.store(way: way) { $0.operationTimeout = patience }
    let slow = (0..<Self.count).map { number in
      Shared(wrappedValue: Leisurely(pace: pace.name), .redis("slow\(number)", store: store))
    }
    @Shared(.redis("quick", store: store)) var quick = Quick(pace: pace.name)
    for share in slow { try await share.status { !$0.isLoading } }
    try await $quick.load()
    pace.change($quick)
    // The store is cut off, so that all changes are taken together.
    try await backend.cutOff(store, "service", way)
    for share in slow { share.withLock { $0.number = 1 } }
    // Each change is checked while it cannot be sent. Only its encoding after that is slow, and counts.
    try await eventually("all changes are checked") { pace.quickSteps == Self.count }
    pace.begin()
    way.open()
    try await eventually("the quick value is encoded") { pace.begunBeforeQuick != nil }
    let begun = try #require(pace.begunBeforeQuick)
    #expect(begun < Self.count)
    try await $quick.save()
    pace.end()
    try await store.flush(within: patience)
    for number in [0, Self.count - 1] {
      #expect(try backend.get("slow\(number)")?.contains("\"number\":1") == true)
    }
  }

  @Test(
    "Decoding many slightly slow values for a key that wraps a Redis key delays no other value",
    arguments: BackendKind.allCases
  )
  func decoding(kind: BackendKind) async throws {
    let pace = Pace()
    defer { pace.end() }
    let backend = try kind.make()
    let store = try backend.store { $0.operationTimeout = patience }
    @Shared(.redis("quick", store: store)) var quick = Quick(pace: pace.name)
    try await $quick.load()
    pace.change($quick)
    pace.begin()
    try backend.set("slow", #"{"number":1,"pace":"\#(pace.name)"}"#)
    let key: RedisSharedKey<Leisurely> = .redis("slow", store: store)
    let loaded = Atomic(0)
    for _ in 0..<Self.count {
      key.load(
        context: .userInitiated,
        continuation: LoadContinuation { result in
          if case .success(let value) = result, value?.number == 1 { loaded.add(1, ordering: .relaxed) }
        }
      )
    }
    try await eventually("the quick value is encoded") { pace.begunBeforeQuick != nil }
    let begun = try #require(pace.begunBeforeQuick)
    #expect(begun < Self.count)
    try await $quick.save()
    pace.end()
    try await eventually("all values are loaded") { loaded.load(ordering: .relaxed) == Self.count }
  }
}

/// The duration of each of many steps: a moment, or nothing before the pace begins and once it has ended.
private final class Pace: Sendable {
  private static let all = Mutex<[String: Pace]>([:])

  /// The duration of a step, in nanoseconds: too short for the library to notice. It is processor time, so that a busy
  /// machine slows down the steps as much as the code that must not wait for them.
  private static let moment: UInt64 = 4_000_000

  /// After so many steps all slow values are under way. Until then, the quick value might wait behind some of them.
  private static let early = 300

  let name = UUID().uuidString
  private let steps = Atomic(0)
  private let stepsBefore = Atomic(0)
  private let hasBegun = Atomic(false)
  private let areUnderWay = DispatchSemaphore(value: 0)
  private let quick = Mutex<Int?>(nil)

  init() {
    Self.all.withLock { $0[name] = self }
  }

  /// The number of steps that had begun when the quick value was encoded; `nil` before that.
  var begunBeforeQuick: Int? { quick.withLock { $0 } }

  /// The number of steps before the pace has begun.
  var quickSteps: Int { stepsBefore.load(ordering: .relaxed) }

  /// Begins the pace: further steps take a moment, and count.
  func begin() { hasBegun.store(true, ordering: .relaxed) }

  /// Changes a quick value once all slow ones are under way, and some steps are done. This has its own thread, because
  /// other tests may occupy the threads of tasks.
  func change(_ share: Shared<Quick>) {
    Thread.detachNewThread { [self] in
      guard areUnderWay.waitInTime() else { return }
      share.withLock { $0.number = 1 }
    }
  }

  static func noteQuick(of name: String) {
    guard let pace = all.withLock({ $0[name] }) else { return }
    let begun = pace.steps.load(ordering: .relaxed)
    pace.quick.withLock { $0 = $0 ?? begun }
  }

  /// Ends the pace: further steps take no time.
  func end() {
    Self.all.withLock { $0[name] = nil }
  }

  static func step(of name: String) {
    guard let pace = all.withLock({ $0[name] }) else { return }
    guard pace.hasBegun.load(ordering: .relaxed) else {
      pace.stepsBefore.add(1, ordering: .relaxed)
      return
    }
    let begun = pace.steps.wrappingAdd(1, ordering: .relaxed).newValue
    if begun == early { pace.areUnderWay.signal() }
    let end = processorTime + moment
    while processorTime < end {}
  }

  /// The processor time of the calling thread, in nanoseconds.
  private static var processorTime: UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}

/// A value whose code takes no time, and which records when it is encoded.
private struct Quick: Codable, Sendable {
  var number = 0
  /// The name of the pace of the slow values.
  var pace: String

  private enum CodingKeys: CodingKey { case number, pace }

  init(pace: String) {
    self.pace = pace
  }

  func encode(to encoder: any Encoder) throws {
    if number > 0 { Pace.noteQuick(of: pace) }
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(number, forKey: .number)
    try container.encode(pace, forKey: .pace)
  }
}

/// A value whose code follows a pace.
private struct Leisurely: Codable, Sendable {
  var number = 0
  /// The name of its pace.
  var pace: String

  private enum CodingKeys: String, CodingKey { case number, pace }

  init(pace: String) {
    self.pace = pace
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    number = try container.decode(Int.self, forKey: .number)
    pace = try container.decode(String.self, forKey: .pace)
    Pace.step(of: pace)
  }

  func encode(to encoder: any Encoder) throws {
    Pace.step(of: pace)
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(number, forKey: .number)
    try container.encode(pace, forKey: .pace)
  }
}
