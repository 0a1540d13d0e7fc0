import Observation
import Testing

@testable import SharedState

@Suite("Shared", .timeLimit(.minutes(5)))
struct SharedTests {
  @Test("Copies of a share have one value")
  func valueOfCopies() {
    let shared = Shared(value: 1)
    let copy = shared
    let another = Shared(projectedValue: shared)
    copy.withLock { $0 += 1 }
    another.withLock { $0 += 1 }
    #expect(shared.wrappedValue == 3)
    #expect(copy.wrappedValue == 3)
    #expect(another.wrappedValue == 3)
  }

  @Test("Structs with the same share as a member have one value")
  func memberOfStructs() {
    struct Model {
      @Shared var count: Int
    }
    struct Owner {
      @Shared var count: Int

      init(count: Shared<Int>) {
        _count = count
      }

      init() {
        _count = Shared(value: 3)
      }
    }
    let shared = Shared(value: 1)
    let model = Model(count: shared)
    let owner = Owner(count: shared)
    model.$count.withLock { $0 = 7 }
    #expect(owner.count == 7)
    #expect(Owner().count == 3)
  }

  @Test("A share holds a value that is not Sendable")
  func nonSendableValue() {
    final class Counter {
      var count = 0
    }
    let shared = Shared(value: Counter())
    shared.withLock { $0.count += 1 }
    #expect(shared.wrappedValue.count == 1)
    shared.count.withLock { $0 += 1 }
    #expect(shared.count.wrappedValue == 2)
  }

  @Test("withLock returns the result of its closure")
  func resultOfClosure() {
    let shared = Shared(value: [1, 2, 3])
    let last = shared.withLock { $0.popLast() }
    #expect(last == 3)
    #expect(shared.wrappedValue == [1, 2])
  }

  @Test("A thrown error leaves the value and its version unchanged")
  func versionAfterError() {
    let shared = Shared(value: [1])
    let version = shared.projection.place.box.version
    #expect(throws: TestError(number: 5)) {
      try shared.withLock { value throws(TestError) in
        value.append(2)
        throw TestError(number: 5)
      }
    }
    #expect(shared.wrappedValue == [1])
    #expect(shared.projection.place.box.version == version)
    // The lock is free again, and its owner is cleared.
    shared.withLock { $0.append(3) }
    #expect(shared.wrappedValue == [1, 3])
  }

  @Test("A thrown error notifies no observers")
  func errorNotifiesNobody() {
    let shared = Shared(value: 1)
    let changes = Recorder<Void>()
    withObservationTracking {
      _ = shared.wrappedValue
    } onChange: {
      changes.append(())
    }
    try? shared.withLock { _ in throw TestError() }
    #expect(changes.count == 0)
    shared.withLock { $0 = 2 }
    #expect(changes.count == 1)
  }

  @Test("withLock mutates in place unless its closure can throw")
  func mutationInPlace() throws {
    final class Storage {}
    struct Value {
      var storage = Storage()
    }
    let shared = Shared(value: Value())
    let isUniqueInPlace = shared.withLock { isKnownUniquelyReferenced(&$0.storage) }
    #expect(isUniqueInPlace)
    let isUniqueInCopy = try shared.withLock { value in
      if false { throw TestError() }
      return isKnownUniquelyReferenced(&value.storage)
    }
    #expect(!isUniqueInCopy)
  }

  @Test("A value replaced by a throwing closure is released outside the lock")
  func replacedValueRelease() throws {
    let reads = Recorder<Bool>()
    let shared = Shared(value: Tracked())
    shared.withLock { value in
      value = Tracked { [shared = shared as Shared<Tracked>?] in
        // Traps if the lock is still held.
        reads.append(shared?.isLoading ?? true)
      }
    }
    try shared.withLock { value throws(TestError) in value = Tracked() }
    #expect(reads.elements == [false])
  }

  @Test("A value discarded by a throwing closure is released outside the lock")
  func discardedValueRelease() {
    let reads = Recorder<Bool>()
    let shared = Shared(value: Tracked())
    #expect(throws: TestError()) {
      try shared.withLock { value throws(TestError) in
        value = Tracked { reads.append(shared.isLoading) }
        throw TestError()
      }
    }
    #expect(reads.elements == [false])
  }

  @Test("Assigning to a projection points its copies elsewhere, but not shares made from it")
  func assignedProjection() {
    @Shared var value: Int
    _value = Shared(value: 1)
    let copy = $value
    let another = Shared(projectedValue: $value)
    $value = Shared(value: 5)
    #expect(value == 5)
    #expect(copy.wrappedValue == 5)
    #expect(another.wrappedValue == 1)
  }

  @Test("Shares and readers are equal when their values are equal")
  func equalValues() {
    #expect(Shared(value: 1) == Shared(value: 1))
    #expect(Shared(value: 1) != Shared(value: 2))
    #expect(SharedReader(value: 1) == SharedReader.constant(1))
  }

  @Test("Shares and readers have the identity of their value")
  func identityOfValue() {
    struct Item: Identifiable {
      let id: Int
    }
    #expect(Shared(value: Item(id: 4)).id == 4)
    #expect(SharedReader(value: Item(id: 4)).id == 4)
  }

  @Test("A description shows the type and the value")
  func describesTypeAndValue() {
    #expect(String(describing: Shared(value: "a")) == #"Shared<String>(value: "a")"#)
    #expect(String(describing: SharedReader(value: "a")) == #"SharedReader<String>(value: "a")"#)
  }

  @Test("A share without a key has nothing to load or save")
  func shareWithoutKey() async throws {
    let shared = Shared(value: 1)
    try await shared.load()
    try await shared.save()
    #expect(!shared.isLoading)
    #expect(shared.loadError == nil)
    #expect(shared.saveError == nil)
    #expect(shared.wrappedValue == 1)
  }

  @Test("The value is released with the last share")
  func releasedValue() {
    let value: Weak<Tracked>
    let box: Weak<Box>
    do {
      let tracked = Tracked()
      let shared = Shared(value: tracked)
      let copy = Shared(projectedValue: shared)
      value = Weak(object: tracked)
      box = Weak(object: copy.projection.place.box)
      #expect(value.object != nil)
    }
    #expect(value.object == nil)
    #expect(box.object == nil)
  }
}
