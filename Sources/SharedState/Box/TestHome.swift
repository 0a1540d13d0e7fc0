import IssueReporting
import SharedStateDependencies
import Synchronization

/// The test that a box was made in, and how another test gets one of its own for the same key.
///
/// A share in a global variable is made once, by the first test that uses it, and finds the storage of that test. Every
/// other test that uses it would share values with the first one. Outside of tests there are no homes.
struct TestHome: Sendable {
  private let test: DependencyCache.Generation
  private let makeBox: @Sendable () -> Box

  fileprivate init(_ test: DependencyCache.Generation, _ makeBox: @escaping @Sendable () -> Box) {
    self.test = test
    self.makeBox = makeBox
  }

  /// Notes the test that a box was made in or beside, the first time.
  ///
  /// - Parameter make: Makes or finds the box of the same key in another test.
  static func note<Value>(_ box: ValueBox<Value>, _ make: @escaping @Sendable () -> ValueBox<Value>) {
    guard box.testHome == nil else { return }
    _ = looksAtEachUse
    box.testHome = TestHome(.current, make)
  }

  /// From now on, reads and changes take the path that asks for ``Place/inPresentTest``.
  private static let looksAtEachUse: Void = ChangeTracking.openScope()

  /// The box of the calling test, if that is another one; `nil` if it is the same, or is unknown.
  func ownBox(insteadOf box: Box) -> Box? {
    guard test.isOver else { return nil }
    return OwnBoxes.current.box(insteadOf: box, make: makeBox)
  }
}

extension Place {
  /// The same part of the present test's own box, if this box was made by another test.
  var inPresentTest: Place {
    guard let own = box.testHome?.ownBox(insteadOf: box) else { return self }
    if let moved = moved(to: own) { return moved }
    OwnBoxes.current.reportOnce(box)
    return self
  }

  /// The same part of the value of another box of the same type; `nil` when the path to the part is unknown.
  func moved(to box: Box) -> Place? {
    guard let pointer else { return accessor?.moved(to: box).map { Place(box: box, accessor: $0) } }
    // The memory has the layout of the one that `pointer` points into, so the part is at the same offset.
    let offset = UnsafeMutableRawPointer(pointer) - self.box.memory
    let part = (box.memory + offset).assumingMemoryBound(to: Value.self)
    return Place(box: box, pointer: part, path: path)
  }
}

/// The boxes that a test has of its own, in place of boxes that were made by other tests.
private final class OwnBoxes: TestDependencyKey, Sendable {
  private struct Entry {
    /// Held, so that no other object gets its identity.
    let original: Box
    /// Held, as the global variable holds the original.
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
    // No lock is held here, because making a box asks the key for the stored value.
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
      A part of '\(box.name)' was derived by another test, and this test sees the value that the other test has left in \
      it. Derive it in each test, where it is used.
      """
    )
  }
}

/// A key that finds its storage in the dependencies, unless one was passed to it.
package protocol StorageFindingKey: SharedReaderKey {
  /// Whether no storage was passed to it.
  var findsStorage: Bool { get }
  /// Makes the same key. If no storage was passed to this key, the new one finds that of the test that makes it. The
  /// closure does not hold a storage that holds its boxes.
  var maker: @Sendable () -> Self { get }
}

extension SharedReaderKey {
  /// Reports that a share was made in code whose test is unknown.
  func reportUnknownTest(of box: Box) {
    guard let key = self as? any StorageFindingKey, key.findsStorage else { return }
    DependencyCache.reportUnknownTest {
      """
      '\(box.name)' was made in code whose test is unknown, such as 'Task.detached', a Dispatch queue or a thread, so it \
      is not the value of that test. Make the share in the test and hand it over, or run the code by \
      'withEscapedDependencies'.
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

/// The one box of a key that makes its own kind of box, instead of being loaded, watched and saved through its methods.
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
