import Dispatch
import Foundation
import Observation
import Synchronization
import Testing

@testable import SharedState

/// Who tells observers, and when.
@Suite(.timeLimit(.minutes(1)))
struct DeliveryTests {
  // MARK: Blocked observers

  @Test func aBlockedObserverDelaysOnlyTheObserversOfItsValue() async {
    let (blocked, free) = (ValueReference(0), ValueReference(0))
    let gate = Gate()
    let told = Log<String>()
    observe(blocked) {
      told.append("blocked")
      gate.wait()
    }
    let observations = [free.place.observe { if $0 > 0 { told.append("\($0)") } }]
    _ = blocked.replace(with: 1)
    await until { told.values == ["blocked"] }
    for value in 1...3 {
      _ = free.replace(with: value)
      await until { told.values.last == "\(value)" }
    }
    gate.open()
    withExtendedLifetime((blocked, observations)) {}
  }

  @Test func threadsAreBoundedAndWhoWaitsForThemIsToldInTheEnd() async {
    let references = (0..<DeliveryThreads.maximumCount + 4).map { _ in ValueReference(0, persistence: OwnThreads.shared)
    }
    let gate = Gate()
    let told = Atomic(0)
    for reference in references {
      withObservationTracking {
        reference.registerAccess()
      } onChange: {
        told.add(1, ordering: .relaxed)
        gate.wait()
      }
      reference.announceRemoteChange()
    }
    await until { told.load(ordering: .relaxed) == DeliveryThreads.maximumCount }
    #expect(OwnThreads.shared.delivery.count == DeliveryThreads.maximumCount)
    gate.open()
    await until { told.load(ordering: .relaxed) == references.count }
    // They end when there is nothing to do.
    await until { OwnThreads.shared.delivery.count == 0 }
  }

  @Test func anObserverThatBlocksForASecondIsNamedOnce() async {
    let persistence = Naming()
    let reference = ValueReference(0, persistence: persistence)
    _ = Shared(reference, declaredAt: ShareOrigin(fileID: "Module/File.swift", line: 7))
    let quick = ValueReference(0, persistence: persistence)
    for round in 1...2 {
      let gate = Gate()
      let isBlocked = DispatchSemaphore(value: 0)
      observe(reference) {
        isBlocked.signal()
        gate.wait()
      }
      _ = reference.replace(with: round)
      isBlocked.wait()
      _ = quick.replace(with: round)
      if round == 1 {
        await until { persistence.places.values == ["Module/File.swift:7"] }
      } else {
        // The second time is over when somebody else has been named after it.
        let other = Naming(delivery: persistence.delivery)
        let blockedNext = ValueReference(0, persistence: other)
        observe(blockedNext) { gate.wait() }
        _ = blockedNext.replace(with: 1)
        await until { other.places.values.count == 1 }
      }
      gate.open()
    }
    #expect(persistence.places.values == ["Module/File.swift:7"])
  }

  // MARK: Changes from several threads

  @Test func whoeverChangesAValueWhileOthersAreToldHandsItOver() async {
    let count = Shared(value: 0)
    let gate = Gate()
    let (seen, isTelling) = (Log<Int>(), DispatchSemaphore(value: 0))
    let observation = count.projection.place.observe { value in
      seen.append(value)
      guard value == 1 else { return }
      isTelling.signal()
      gate.wait()
    }
    let first = Thread { count.withLock { $0 = 1 } }
    first.start()
    isTelling.wait()
    // Returns although nobody is told before the gate is open.
    count.withLock { $0 = 2 }
    #expect(seen.values == [0, 1])
    gate.open()
    await until { seen.values == [0, 1, 2] }
    withExtendedLifetime(observation) {}
  }

  /// Each time that the observers are told somebody else changes the value again.
  @Test(arguments: [true, false]) func nobodyTellsForOthersWithoutEnd(isValueObserver: Bool) async {
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
      isChanged.wait()
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
    await until { returned.load(ordering: .relaxed) }
    // The delivery threads go on.
    let before = told.load(ordering: .relaxed)
    await until { told.load(ordering: .relaxed) > before + 2 * Reference.roundsOfTelling }
    goesOn.store(false, ordering: .relaxed)
    await until { newest.load(ordering: .relaxed) == count.wrappedValue }
    count.withLock { $0 = -1 }
    await until { newest.load(ordering: .relaxed) == count.wrappedValue }
    withExtendedLifetime(observation) {}
  }

  @Test func aStormOfChangesKeepsNobodyFromReturning() async {
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
    await until { ended.load(ordering: .relaxed) == 2 && seen.elements.last == count.wrappedValue }
    #expect(seen.elements == seen.elements.sorted())
    withExtendedLifetime(observation) {}
  }

  private func observe(_ reference: Reference, _ body: @escaping @Sendable () -> Void) {
    withObservationTracking {
      reference.registerAccess()
    } onChange: {
      body()
    }
  }
}

/// Keeps everybody waiting until it is open.
private final class Gate: Sendable {
  private let semaphore = DispatchSemaphore(value: 0)

  /// A test that fails leaves nobody waiting.
  deinit { open() }

  func open() { semaphore.signal() }

  func wait() {
    semaphore.wait()
    semaphore.signal()
  }
}

/// A persistence with delivery threads of its own.
private class OwnThreads: ReferencePersistence, @unchecked Sendable {
  // `@unchecked Sendable` is right because subclasses have constants only.
  static let shared = OwnThreads()

  let delivery: DeliveryThreads

  init(delivery: DeliveryThreads = DeliveryThreads()) {
    self.delivery = delivery
  }

  func referenceDidMutate() {}
  func load() async throws {}
  func save(replacingUnreadable: Bool) async throws {}
  func reset() async throws {}
  func observerIsBlocked(sharedAt place: String?) {}
}

/// Remembers which observers were named.
private final class Naming: OwnThreads, @unchecked Sendable {
  let places = Log<String?>()

  override func observerIsBlocked(sharedAt place: String?) { places.append(place) }
}
