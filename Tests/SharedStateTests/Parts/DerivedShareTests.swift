import Testing

@testable import SharedState

@Suite("Derived shares", .timeLimit(.minutes(5)))
struct DerivedShareTests {
  private struct Settings {
    var name = "a"
    var volume = 1
    var nested = Nested()
    var pair = (first: 1, second: "b")
    let constant = 9
    var level = 1.75
    var watched = 1 {
      didSet { changes += 1 }
    }
    var changes = 0
    var optional: Nested?
    var items = [1, 2, 3]
    var table = ["x": 1]
    var action: (Int) -> Int = { $0 + 1 }
    var type: any Equatable.Type = Int.self
    weak var object: Tracked?

    /// Reading it and writing it back is lossy.
    var roundedLevel: Int {
      get { Int(level) }
      set { level = Double(newValue) }
    }

    var summary: String { "\(name) \(volume)" }
  }

  private struct Nested: Equatable {
    var number = 1
    var text = "t"
    var inner = Inner()

    var doubled: Int {
      get { number * 2 }
      set { number = newValue / 2 }
    }

    struct Inner: Equatable {
      var flag = false
    }
  }

  @Test("A stored part shares the memory of the whole")
  func storedPart() {
    let whole = Shared(value: Settings())
    let volume = whole.volume
    let flag = whole.nested.inner.flag
    #expect(volume.projection.place.pointer != nil)
    #expect(flag.projection.place.pointer != nil)
    volume.withLock { $0 = 5 }
    flag.withLock { $0 = true }
    #expect(whole.wrappedValue.volume == 5)
    #expect(whole.wrappedValue.nested.inner.flag)
    #expect(whole.wrappedValue.name == "a")
    whole.withLock { $0.volume = 6 }
    #expect(volume.wrappedValue == 6)
  }

  @Test("An element of a tuple is read and written")
  func tupleElement() {
    let whole = Shared(value: Settings())
    let second = whole.pair.second
    second.withLock { $0 += "c" }
    #expect(whole.wrappedValue.pair == (1, "bc"))
  }

  @Test("A computed part is read and written through its accessors")
  func computedAccessors() {
    let whole = Shared(value: Settings())
    let doubled = whole.nested.doubled
    #expect(doubled.projection.place.pointer == nil)
    #expect(doubled.wrappedValue == 2)
    doubled.withLock { $0 = 10 }
    #expect(whole.wrappedValue.nested.number == 5)
    #expect(doubled.withLock { $0 } == 10)
  }

  @Test("Stored and computed parts of an array element are read and written")
  func partsOfElement() {
    let whole = Shared(value: [Nested(), Nested()])
    let stored = whole[1].number
    let computed = whole[1].doubled
    stored.withLock { $0 = 3 }
    #expect(computed.wrappedValue == 6)
    computed.withLock { $0 = 8 }
    #expect(stored.wrappedValue == 4)
    #expect(whole.wrappedValue.map(\.number) == [1, 4])
  }

  @Test("Array elements and dictionary values are written through derived shares")
  func collectionElements() {
    let whole = Shared(value: Settings())
    whole.items[1].withLock { $0 = 20 }
    whole.table["x"].withLock { $0 = nil }
    whole.table["y"].withLock { $0 = 2 }
    #expect(whole.wrappedValue.items == [1, 20, 3])
    #expect(whole.wrappedValue.table == ["y": 2])
  }

  @Test("Writing to a part runs its property observers")
  func propertyObserversRun() {
    let whole = Shared(value: Settings())
    whole.watched.withLock { $0 = 2 }
    #expect(whole.wrappedValue.watched == 2)
    #expect(whole.wrappedValue.changes == 1)
  }

  @Test("A weak part is read and written")
  func weakPart() {
    let whole = Shared(value: Settings())
    let tracked = Tracked()
    whole.object.withLock { $0 = tracked }
    #expect(whole.object.wrappedValue === tracked)
    #expect(whole.wrappedValue.object === tracked)
  }

  @Test("Functions and metatypes are read and written")
  func functionsAndMetatypes() {
    let whole = Shared(value: Settings())
    #expect(whole.action.wrappedValue(1) == 2)
    whole.action.withLock { $0 = { $0 * 10 } }
    #expect(whole.action.wrappedValue(1) == 10)
    #expect(whole.wrappedValue.action(1) == 10)
    whole.type.withLock { $0 = String.self }
    #expect(whole.type.wrappedValue == String.self)
  }

  @Test("A read-only part is a reader that follows the whole")
  func readOnlyPart() {
    let whole = Shared(value: Settings())
    let summary: SharedReader<String> = whole.summary
    let constant: SharedReader<Int> = whole.constant
    let optional: SharedReader<Int?> = whole[dynamicMember: \.optional?.number]
    #expect(summary.wrappedValue == "a 1")
    #expect(constant.wrappedValue == 9)
    #expect(optional.wrappedValue == nil)
    whole.withLock { settings in
      settings.volume = 2
      settings.optional = Nested()
    }
    #expect(summary.wrappedValue == "a 2")
    #expect(optional.wrappedValue == 1)
  }

  @Test("A reader derives readers of its parts")
  func readerDerivesReaders() {
    let whole = Shared(value: Settings())
    let reader = SharedReader(whole)
    let volume: SharedReader<Int> = reader.volume
    let count: SharedReader<Int> = reader.items.count
    whole.withLock { $0.items.append(4) }
    #expect(volume.wrappedValue == 1)
    #expect(count.wrappedValue == 4)
  }

  @Test("A thrown error leaves a stored part and its version unchanged")
  func storedPartError() {
    let whole = Shared(value: Settings())
    let version = whole.projection.place.box.version
    #expect(throws: TestError()) {
      try whole.nested.withLock { value throws(TestError) in
        value.number = 7
        throw TestError()
      }
    }
    #expect(whole.wrappedValue.nested == Nested())
    #expect(whole.projection.place.box.version == version)
  }

  @Test("A thrown error leaves the whole of a computed part unchanged")
  func computedPartError() {
    let whole = Shared(value: Settings())
    let version = whole.projection.place.box.version
    #expect(throws: TestError()) {
      try whole.roundedLevel.withLock { value throws(TestError) in
        value = 7
        throw TestError()
      }
    }
    #expect(whole.wrappedValue.level == 1.75)
    #expect(whole.projection.place.box.version == version)
  }

  @Test("A part keeps the whole alive")
  func wholeKeptAlive() {
    let part: Shared<Int>
    do {
      part = Shared(value: Settings()).volume
    }
    part.withLock { $0 += 1 }
    #expect(part.wrappedValue == 2)
  }

  @Test("A part stays with the whole that it was derived from")
  func repointedWhole() {
    let whole = Shared(value: Settings())
    let volume = whole.volume
    whole.projectedValue = Shared(value: Settings(volume: 8))
    #expect(volume.wrappedValue == 1)
    #expect(whole.volume.wrappedValue == 8)
  }

  @Test("A change to a part saves the whole")
  func savedWhole() {
    let backend = ScriptedBackend<Nested>()
    @Shared(.scripted(backend)) var nested = Nested()
    $nested.number.withLock { $0 = 3 }
    $nested.doubled.withLock { $0 = 8 }
    #expect(backend.savedValues.map(\.number) == [3, 4])
  }

  @Test("A part shares the loading status and the load error of the whole")
  func sharedLoadStatus() {
    let backend = ScriptedBackend<Nested>.loadingByHand()
    @Shared(.scripted(backend)) var nested = Nested()
    let number = $nested.number
    #expect(number.isLoading)
    backend.loads.elements[0].continuation.resume(throwing: TestError())
    #expect(!number.isLoading)
    #expect(number.loadError is TestError)
  }
}
