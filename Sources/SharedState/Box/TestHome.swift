import IssueReporting
import SharedStateDependencies
import Synchronization

/// The test that a box was made in, and how another test gets one of its own for the same key.
///
/// A share in a global variable is made once, by the test that is first to use it, and finds the storage of that test.
/// Every other test that uses it would share values with the first one. Outside of tests there are no homes.
struct TestHome: Sendable {
  private let test: DependencyCache.Generation
  private let makeBox: @Sendable () -> Box

  fileprivate init(_ test: DependencyCache.Generation, _ makeBox: @escaping @Sendable () -> Box) {
    self.test = test
    self.makeBox = makeBox
  }

  /// Notes where a box was made, the first time, if that was in a test or beside one.
  ///
  /// - Parameter make: Makes or finds the box of the same key in another test.
  static func note<Value>(_ box: ValueBox<Value>, _ make: @escaping @Sendable () -> ValueBox<Value>) {
    guard box.testHome == nil else { return }
    _ = looksAtEachUse
    box.testHome = TestHome(.current, make)
  }

  /// Reads and changes take the way on which ``Place/inPresentTest`` is asked for, from now on.
  private static let looksAtEachUse: Void = ChangeTracking.openScope()

  /// The box of the test that asks, where that is another one; `nil`: it is the same, or nobody can know.
  func ownBox(insteadOf box: Box) -> Box? {
    guard test.isOver else { return nil }
    return OwnBoxes.current.box(insteadOf: box, make: makeBox)
  }
}

extension Place {
  /// The same part of what the present test has under the key, where the box was made by another test.
  var inPresentTest: Place {
    guard let own = box.testHome?.ownBox(insteadOf: box) else { return self }
    if let moved = moved(to: own) { return moved }
    OwnBoxes.current.reportOnce(box)
    return self
  }

  /// The same part of another box's value, of the same type; `nil`: the way there is not known.
  func moved(to box: Box) -> Place? {
    guard let pointer else { return accessor?.moved(to: box).map { Place(box: box, accessor: $0) } }
    // The memory is laid out as the one that `pointer` points into, so the part is at the same offset.
    let offset = UnsafeMutableRawPointer(pointer) - self.box.memory
    let part = (box.memory + offset).assumingMemoryBound(to: Value.self)
    return Place(box: box, pointer: part, path: path)
  }
}

/// What a test has instead of boxes that were made by other tests.
private final class OwnBoxes: TestDependencyKey, Sendable {
  private struct Entry {
    /// Held, so that no other object gets its identity.
    let original: Box
    /// Held, as the global variable holds the other one.
    let own: Box
  }

  private struct State {
    var entries: [ObjectIdentifier: Entry] = [:]
    var reported: Set<ObjectIdentifier> = []
  }

  private let state = Mutex(State())

  static var testValue: OwnBoxes { OwnBoxes() }

  static var current: OwnBoxes { DependencyValues.current[OwnBoxes.self] }

  func box(insteadOf original: Box, make: () -> Box) -> Box {
    let id = ObjectIdentifier(original)
    if let entry = state.withLock({ $0.entries[id] }) { return entry.own }
    // No lock is held: a key is asked for what is stored.
    let made = make()
    return state.withLock { state in
      if let entry = state.entries[id] { return entry.own }
      state.entries[id] = Entry(original: original, own: made)
      return made
    }
  }

  func reportOnce(_ box: Box) {
    guard state.withLock({ $0.reported.insert(ObjectIdentifier(box)).inserted }) else { return }
    reportIssue(
      """
      A part of '\(box.name)' was derived by another test, and this test sees what that one has left in it. Derive it \
      in each test, where it is used.
      """
    )
  }
}

/// A key that finds its storage in the dependencies, unless it was given one.
package protocol StorageFindingKey: SharedReaderKey {
  /// Whether it was given none.
  var findsStorage: Bool { get }
  /// Makes the same key, in the storage of the test that calls it where this one was given none. Does not hold a storage that
  /// holds its boxes.
  var maker: @Sendable () -> Self { get }
}

extension SharedReaderKey {
  /// Says that a share was made where nobody knows which test it belongs to.
  func reportUnknownTest(of box: Box) {
    guard let key = self as? any StorageFindingKey, key.findsStorage else { return }
    DependencyCache.reportUnknownTest {
      """
      '\(box.name)' was made where nobody knows which test it belongs to, such as in 'Task.detached', on a Dispatch \
      queue or on a thread, so it is not the value of that test. Make the share in the test and hand it over, or run the \
      code by 'withEscapedDependencies'.
      """
    }
  }

  /// Makes the same key for the test that calls it.
  var makerForAnyTest: @Sendable () -> Self {
    guard let key = self as? any StorageFindingKey else { return { self } }
    return opened(key)
  }

  private func opened<Key: StorageFindingKey>(_ key: Key) -> @Sendable () -> Self {
    let maker = key.maker
    return {
      guard let made = maker() as? Self else {
        preconditionFailure("A key has made one of another type. This is a bug in SharedState.")
      }
      return made
    }
  }
}

/// The one box of a key that brings its own kind, instead of being loaded, watched and saved through its methods.
///
/// A requirement of ``SharedReaderKey`` hands it over, because asking whether a key conforms to another protocol costs
/// more than the whole look-up.
@_documentation(visibility: private)
public struct _OwnBox<Value> {
  let box: ValueBox<Value>

  package init(_ box: ValueBox<Value>) {
    self.box = box
  }
}
