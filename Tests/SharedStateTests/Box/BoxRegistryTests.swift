import Foundation
import SharedStateTesting
import Testing

@testable import SharedState

@Suite("BoxRegistry", .timeLimit(.minutes(5)))
struct BoxRegistryTests {
  @Test("Shares with equal keys use one box, which loads and subscribes once")
  func equalKeys() {
    let backend = ScriptedBackend<Int>()
    let one = Shared(wrappedValue: 1, .scripted(backend))
    let two = Shared(wrappedValue: 2, .scripted(backend))
    #expect(one.projection.place.box === two.projection.place.box)
    #expect(BoxRegistry.current.count == 1)
    #expect(backend.loads.count == 1)
    #expect(backend.subscribers.count == 1)
  }

  @Test("The default is evaluated only for a new box")
  func lazyDefault() {
    let backend = ScriptedBackend<Int>()
    let evaluations = Recorder<Void>()
    func makeDefault() -> Int {
      evaluations.append(())
      return 1
    }
    @Shared(.scripted(backend)) var one = makeDefault()
    @Shared(.scripted(backend)) var two = makeDefault()
    @SharedReader(.scripted(backend)) var three = makeDefault()
    #expect(evaluations.count == 1)
  }

  @Test("A new box is made once the old one is released")
  func recreatedBox() {
    let registry = BoxRegistry()
    let started = Recorder<Int>()
    func box(_ value: Int) -> ValueBox<Int> {
      registry.box(id: .name("a")) {
        ValueBox(value)
      } start: { box, _ in
        started.append(box.value)
      }
    }
    do {
      let first = box(1)
      #expect(first.value == 1)
      #expect(box(2) === first)
      #expect(registry.count == 1)
    }
    #expect(registry.count == 0)
    #expect(box(3).value == 3)
    #expect(registry.count == 0)
    #expect(started.elements == [1, 3])
  }

  @Test("Boxes with one name but different value types are distinct")
  func keepsTypesApart() {
    let registry = BoxRegistry()
    let number = registry.box(id: .name("a"), make: { ValueBox(1) }, start: { _, _ in })
    let text = registry.box(id: .name("a"), make: { ValueBox("a") }, start: { _, _ in })
    #expect(registry.count == 2)
    #expect(number.value == 1)
    #expect(text.value == "a")
  }

  @Test("Requesting a box while it starts returns the same box")
  func requestDuringStart() {
    let registry = BoxRegistry()
    var inner: ValueBox<Int>?
    let outer = registry.box(id: .name("a"), make: { ValueBox(1) }) { _, _ in
      inner = registry.box(id: .name("a"), make: { ValueBox(2) }, start: { _, _ in })
    }
    #expect(inner === outer)
  }

  @Test("A default value may use a share of the same key")
  func nestedDefault() {
    let backend = ScriptedBackend<Int>()
    let outer = Shared(
      wrappedValue: Shared(wrappedValue: 1, .scripted(backend)).wrappedValue + 1,
      .scripted(backend)
    )
    #expect(outer.wrappedValue == 2)
    #expect(BoxRegistry.current.count == 1)
  }

  @Test("A second thread waits until the box is usable")
  func waitingUntilUsable() async {
    let registry = BoxRegistry()
    let steps = Recorder<String>()
    let mayFinish = DispatchSemaphore(value: 0)
    // On threads of their own, because they block.
    let boxes = Recorder<ValueBox<Int>>()
    Thread.detachNewThread {
      let box = registry.box(id: .name("a"), make: { ValueBox(1) }) { box, _ in
        steps.append("starting")
        mayFinish.waitInTime()
        _ = box.replace(with: 2)
        steps.append("started")
      }
      boxes.append(box)
    }
    await steps.wait(count: 1)
    Thread.detachNewThread {
      steps.append("asking")
      let found = registry.box(id: .name("a"), make: { ValueBox(3) }, start: { _, _ in })
      steps.append("found \(found.value)")
    }
    await steps.wait(count: 2)
    mayFinish.signal()
    await boxes.wait(count: 1)
    #expect(await steps.wait(count: 4) == ["starting", "asking", "started", "found 2"])
    #expect(registry.count == 1)
  }

  @Test("A second thread catches up while the first one runs user code")
  func catchingUp() async {
    let registry = BoxRegistry()
    let steps = Recorder<String>()
    let mayFinish = DispatchSemaphore(value: 0)
    @Sendable func find() -> ValueBox<Int> {
      registry.box(id: .name("a"), make: { ValueBox(1) }) { _, isUsable in
        isUsable()
        steps.append("starting")
        mayFinish.waitInTime()
      } catchUp: { box in
        // Code that catches up may ask for the box, as code that starts it may.
        steps.append("catching up \(find() === box)")
      }
    }
    let boxes = Recorder<ValueBox<Int>>()
    Thread.detachNewThread { boxes.append(find()) }
    await steps.wait(count: 1)
    let box = find()
    #expect(box.observedStatus.isLoading)
    mayFinish.signal()
    #expect(await boxes.wait(count: 1).first === box)
    #expect(find() === box)
    #expect(steps.elements == ["starting", "catching up true"])
    #expect(!box.observedStatus.isLoading)
  }

  @Test("The identifier of a box is released outside the registry's lock")
  func identifierRelease() {
    /// Equal to all others. Its release uses the registry.
    final class ID: Hashable, Sendable {
      let registry: BoxRegistry
      let released: Recorder<Int>

      init(_ registry: BoxRegistry, _ released: Recorder<Int>) {
        self.registry = registry
        self.released = released
      }

      deinit { released.append(registry.count) }

      static func == (lhs: ID, rhs: ID) -> Bool { true }
      func hash(into hasher: inout Hasher) {}
    }
    let registry = BoxRegistry()
    let released = Recorder<Int>()
    let successor = Shared<ValueBox<Tracked>?>(value: nil)
    @Sendable func box(_ value: Tracked) -> ValueBox<Tracked> {
      let id = BoxRegistry.ID.key(ID(registry, released), type: ObjectIdentifier(ID.self))
      return registry.box(id: id, make: { ValueBox(value) }, start: { _, _ in })
    }
    // The successor takes over the entry and the identifier of the first box while that one ends.
    do {
      _ = box(Tracked { successor.withLock { $0 = box(Tracked()) } })
    }
    #expect(registry.count == 1)
    successor.withLock { $0 = nil }
    #expect(released.elements.count == 2)
    #expect(registry.count == 0)
  }

  @Test("The registry is empty after many shares of one key are released")
  func manyShares() async throws {
    let backend = ScriptedBackend<Int>()
    let registry = BoxRegistry.current
    for number in 0..<repetitions(100_000) {
      let shared = Shared(wrappedValue: number, .scripted(backend))
      if number % 1000 == 0 { shared.withLock { $0 += 1 } }
    }
    try await registryIsEmpty(registry)
    #expect(backend.cancellations.count == backend.subscribers.count)
  }

  @Test("The registry is empty after the shares of many keys are released")
  func manyKeys() async throws {
    let registry = BoxRegistry.current
    do {
      let shares = (0..<1000).map { Shared(wrappedValue: $0, .scripted(ScriptedBackend())) }
      #expect(registry.count == 1000)
      #expect(shares.reduce(0) { $0 + $1.wrappedValue } == 499_500)
    }
    try await registryIsEmpty(registry)
  }

  @Test("Concurrently released and recreated boxes leave the registry empty")
  func concurrentRecreation() async {
    let registry = BoxRegistry()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask {
          for _ in 0..<20_000 {
            _ = registry.box(id: .name("a"), make: { ValueBox(1) }, start: { _, _ in })
          }
        }
      }
    }
    #expect(registry.count == 0)
  }

  /// The delivery queue may hold a box for an instant.
  private func registryIsEmpty(_ registry: BoxRegistry) async throws {
    try await eventually("an empty registry") { registry.count == 0 }
  }
}
