import Dispatch
import Foundation
import Observation
import SharedStateDependencies
import SharedStateTesting
import Synchronization
import Testing

@testable import SharedState

/// Tests on which thread observers are told, and when.
@Suite("Delivery to observers", .timeLimit(.minutes(5)))
struct DeliveryTests {
  // MARK: Blocked observers

  @Test("A blocked observer does not delay the observers of other values")
  func blockedObserver() async {
    let (blocked, free) = (ValueBox(0), ValueBox(0))
    let gate = Gate()
    defer { gate.open() }
    let told = Log<String>()
    observe(blocked) {
      told.append("blocked")
      gate.pass()
    }
    let observations = [free.place.observe { if $0 > 0 { told.append("\($0)") } }]
    _ = blocked.replace(with: 1)
    await until("the reports", told.values, is: ["blocked"])
    for value in 1...3 {
      _ = free.replace(with: value)
      await until("the last report", told.values.last, is: "\(value)")
    }
    gate.open()
    withExtendedLifetime((blocked, observations)) {}
  }

  @Test("Delivery threads are bounded in number, and every observer is notified eventually")
  func boundedThreads() async {
    let boxes = (0..<UserCodeThreads.maximumObservers + 4).map { _ in ValueBox(0, persistence: OwnThreads.shared)
    }
    let gate = Gate()
    defer { gate.open() }
    let told = Atomic(0)
    for box in boxes {
      withObservationTracking {
        box.registerAccess()
      } onChange: {
        told.add(1, ordering: .relaxed)
        gate.pass()
      }
      _ = box.replace(with: 1)
    }
    await until("the number of notified observers", told.load(ordering: .relaxed), is: UserCodeThreads.maximumObservers)
    #expect(OwnThreads.shared.userCode.count == UserCodeThreads.maximumObservers)
    gate.open()
    await until("the number of notified observers", told.load(ordering: .relaxed), is: boxes.count)
    // The threads end when there is nothing to do.
    await until("the number of threads", OwnThreads.shared.userCode.count, is: 0)
  }

  @Test("Observers are notified once a thread can be started, and the refusal is reported once")
  func refusedThread() async {
    let isRefused = Atomic(true)
    let threads = UserCodeThreads(threads: ThreadStarter { _ in isRefused.load(ordering: .relaxed) })
    let shortages = Log<String>()
    threads.onShortage { shortages.append("\($0)".prefix { $0 != "(" } + "") }
    let persistence = OwnThreads(userCode: threads)
    let boxes = (0..<2).map { _ in ValueBox(0, persistence: persistence) }
    let told = Log<Int>()
    let observations = boxes.map { box in box.place.observe { if $0 > 0 { told.append($0) } } }
    for box in boxes { _ = box.replace(with: 1) }
    await until("the reports on refusals", shortages.values, is: ["began", "lasts"])
    #expect(told.values == [])
    #expect(threads.count == 0)
    isRefused.store(false, ordering: .relaxed)
    await until("the reports", told.values, is: [1, 1])
    _ = boxes[0].replace(with: 2)
    await until("the reports", told.values, is: [1, 1, 2])
    await until("the reports on refusals", shortages.values, is: ["began", "lasts", "ended"])
    withExtendedLifetime((boxes, observations)) {}
  }

  @Test("An observer that blocks for a second is reported once, with the declaration of its share")
  func reportedObserver() async {
    let persistence = Naming()
    let box = ValueBox(0, persistence: persistence)
    _ = Shared(box, declaredAt: ShareOrigin(fileID: "Module/File.swift", line: 7))
    let quick = ValueBox(0, persistence: persistence)
    for round in 1...2 {
      let gate = Gate()
      defer { gate.open() }
      let isBlocked = DispatchSemaphore(value: 0)
      observe(box) {
        isBlocked.signal()
        gate.pass()
      }
      _ = box.replace(with: round)
      #expect(isBlocked.waitInTime())
      _ = quick.replace(with: round)
      if round == 1 {
        await until("the reported places", persistence.places.values, is: ["Module/File.swift:7"])
      } else {
        // The second round is over when the observer of another value has been named after it.
        let other = Naming(userCode: persistence.userCode)
        let blockedNext = ValueBox(0, persistence: other)
        observe(blockedNext) { gate.pass() }
        _ = blockedNext.replace(with: 1)
        await until("the number of reported places", other.places.values.count, is: 1)
      }
      gate.open()
    }
    #expect(persistence.places.values == ["Module/File.swift:7"])
  }

  // MARK: Changes from several threads

  @Test("A change made during a notification returns immediately, and its observers are notified later")
  func changeDuringNotification() async {
    let count = Shared(value: 0)
    let gate = Gate()
    defer { gate.open() }
    let (seen, isNotifying) = (Log<Int>(), DispatchSemaphore(value: 0))
    let observation = count.projection.place.observe { value in
      seen.append(value)
      guard value == 1 else { return }
      isNotifying.signal()
      gate.pass()
    }
    let first = Thread { count.withLock { $0 = 1 } }
    first.start()
    #expect(isNotifying.waitInTime())
    // Returns, although no observer is told before the gate is open.
    count.withLock { $0 = 2 }
    #expect(seen.values == [0, 1])
    gate.open()
    await until("the observed values", seen.values, is: [0, 1, 2])
    withExtendedLifetime(observation) {}
  }

  /// Another thread changes the value each time that the observers are told.
  @Test("withLock returns although another thread changes the value at every notification", arguments: [true, false])
  func endlessChanges(isValueObserver: Bool) async {
    let count = Shared(value: 0)
    let goesOn = Atomic(true)
    let told = Atomic(0)
    let newest = Atomic(0)
    let returned = Atomic(false)
    let changeElsewhere: @Sendable () -> Void = {
      told.add(1, ordering: .relaxed)
      guard goesOn.load(ordering: .relaxed) else { return }
      let isChanged = DispatchSemaphore(value: 0)
      Thread {
        count.withLock { $0 += 1 }
        isChanged.signal()
      }.start()
      #expect(isChanged.waitInTime())
    }
    @Sendable func track() {
      withObservationTracking {
        newest.store(count.wrappedValue, ordering: .relaxed)
      } onChange: {
        track()
        changeElsewhere()
      }
    }
    var observation: ValueObservation?
    if isValueObserver {
      observation = count.projection.place.observe { value in
        newest.store(value, ordering: .relaxed)
        if value > 0 { changeElsewhere() }
      }
    } else {
      track()
    }
    Thread {
      count.withLock { $0 += 1 }
      returned.store(true, ordering: .relaxed)
    }.start()
    await until("withLock has returned", returned.load(ordering: .relaxed), is: true)
    // The user code threads go on telling.
    let before = told.load(ordering: .relaxed)
    await until("further notifications", told.load(ordering: .relaxed)) { $0 > before + 2 * Box.notificationRounds }
    goesOn.store(false, ordering: .relaxed)
    await until("the newest value seen", [newest.load(ordering: .relaxed), count.wrappedValue]) { $0[0] == $0[1] }
    count.withLock { $0 = -1 }
    await until("the newest value seen", [newest.load(ordering: .relaxed), count.wrappedValue]) { $0[0] == $0[1] }
    withExtendedLifetime(observation) {}
  }

  @Test("Every withLock returns in a storm of changes, and observers see the values in order")
  func changeStorm() async {
    let count = Shared(value: 0)
    let goesOn = Atomic(true)
    let seen = Recorder<Int>()
    let observation = count.projection.place.observe { seen.append($0) }
    let ended = Atomic(0)
    for _ in 0..<2 {
      Thread {
        while goesOn.load(ordering: .relaxed) { count.withLock { $0 += 1 } }
        ended.add(1, ordering: .relaxed)
      }.start()
    }
    for _ in 0..<100 { count.withLock { $0 += 1 } }
    goesOn.store(false, ordering: .relaxed)
    await until("both threads have ended", ended.load(ordering: .relaxed), is: 2)
    await until("the last value is seen", seen.elements.last, is: count.wrappedValue)
    #expect(seen.elements == seen.elements.sorted())
    withExtendedLifetime(observation) {}
  }

  // MARK: Loads

  @Test("load returns behind the notification of what it has loaded, with any kind of observer")
  func loadedValue() async throws {
    let stored = Atomic(0)
    let backend = ScriptedBackend<Int>(onLoad: { $0.continuation.resume(returning: stored.load(ordering: .relaxed)) })
    let count = Shared(wrappedValue: 0, .scripted(backend))
    let received = Log<Int>()
    let observation = count.projection.place.observe { received.append($0) }
    for round in 1...repetitions(200) {
      let seen = Log<Int>()
      observe(count.projection.place.box) { seen.append(count.wrappedValue) }
      stored.store(round, ordering: .relaxed)
      let start = ContinuousClock.now
      try await count.load()
      try await expectBehindCall(begunAt: start, "the notifications") {
        seen.values == [round] && received.values.last == round
      }
    }
    withExtendedLifetime(observation) {}
  }

  @Test("A thread that sees a change from elsewhere can wait until its observers are notified")
  func seenChange() async throws {
    let (box, last) = (ValueBox(0), repetitions(2000))
    let seen = Atomic(0)
    let observation = box.place.observe { seen.store($0, ordering: .releasing) }
    let writer = Thread {
      for round in 1...last { _ = box.replace(with: round) }
    }
    writer.start()
    var present = 0
    while present < last {
      let start = ContinuousClock.now
      present = box.value
      await box.waitForDeliveries()
      let awaited = present
      try await expectBehindCall(begunAt: start, "the notification") { seen.load(ordering: .acquiring) >= awaited }
    }
    withExtendedLifetime(observation) {}
  }

  @Test("load(key) returns behind the notification of the value that the other key has by then")
  func loadedKey() async throws {
    for _ in 1...repetitions(200) {
      let stored = Atomic(1)
      let backend = ScriptedBackend<Int>(onLoad: { $0.continuation.resume(returning: stored.load(ordering: .relaxed)) })
      let other = Shared(wrappedValue: 1, .scripted(backend))
      let count = Shared(value: 0)
      let seen = Log<Int>()
      observe(other.projection.place.box) { seen.append(other.wrappedValue) }
      stored.store(2, ordering: .relaxed)
      let start = ContinuousClock.now
      try await count.load(.scripted(backend))
      try await expectBehindCall(begunAt: start, "the notification") { seen.values == [2] }
      #expect(count.wrappedValue == 2)
    }
  }

  @Test("load returns behind the notification of what another program has written to a file")
  func loadedFile() async throws {
    let directory = try TemporaryDirectory()
    let url = directory["count.json"]
    try await withDisk { () async throws in
      let count = Shared(wrappedValue: 0, .fileStorage(url))
      for round in 1...repetitions(100) {
        let seen = Log<Int>()
        observe(count.projection.place.box) { seen.append(count.wrappedValue) }
        let start = ContinuousClock.now
        try Data("\(round)".utf8).write(to: url, options: .atomic)
        try await count.load()
        try await expectBehindCall(begunAt: start, "the notification") { seen.values == [round] }
      }
    }
  }

  @Test("load returns although an observer of its value blocks, and behind an observer that waits for another's")
  func loadWithBlockedObserver() async throws {
    let (blocked, free) = (ScriptedBackend<Int>.storing(1), ScriptedBackend<Int>.loadingByHand())
    let other = Shared(wrappedValue: 0, .scripted(free))
    let count = SharedReader(wrappedValue: 0, ScriptedReaderKey(backend: blocked))
    let gate = Gate()
    defer { gate.open() }
    let told = Log<String>()
    observe(count.projection.place.box) {
      told.append("blocked")
      gate.pass()
    }
    blocked.yield(2)
    #expect(try await gate.isReached())
    try await inTime("the load of a value whose observer blocks") { try await count.load() }
    #expect(told.values == ["blocked"])
    observe(other.projection.place.box) { told.append("free") }
    let load = Task { try await other.load() }
    let loads = await free.loads.wait(count: 2)
    let start = ContinuousClock.now
    for load in loads { load.continuation.resume(returning: 1) }
    try await load.value
    try await expectBehindCall(begunAt: start, "the other notification") { told.values == ["blocked", "free"] }
  }

  private func observe(_ box: Box, _ body: @escaping @Sendable () -> Void) {
    withObservationTracking {
      box.registerAccess()
    } onChange: {
      body()
    }
  }
}

/// A persistence with user code threads of its own.
private class OwnThreads: BoxPersistence, @unchecked Sendable {
  // `@unchecked Sendable` is right because subclasses have constants only.
  static let shared = OwnThreads()

  let userCode: UserCodeThreads

  init(userCode: UserCodeThreads = UserCodeThreads()) {
    self.userCode = userCode
  }

  var keyDescription: String { "OwnThreads" }
  var reportsUnreadErrors: Bool { true }
  func boxDidMutate() {}
  func load(within timeout: Duration?) async throws {}
  func save(replacingUnreadable: Bool, within timeout: Duration?) async throws {}
  func reset(within timeout: Duration?) async throws {}
  func isBlocked(by code: BlockedCode, share: String, sharedAt place: String?) {}
}

/// Remembers the observers that were named.
private final class Naming: OwnThreads, @unchecked Sendable {
  let places = Log<String?>()

  override func isBlocked(by code: BlockedCode, share: String, sharedAt place: String?) {
    places.append(place)
  }
}
