import Foundation
import IssueReporting
import Synchronization

/// The values without overrides: defaults, made when first needed, and prepared values.
///
/// There is one for the process, and in a test process one for each test. The class may be used from any thread.
/// Defaults are user code, and are evaluated without the lock.
package final class DependencyCache: Sendable {
  private struct ID: Hashable {
    let key: ObjectIdentifier
    let context: DependencyContext
  }

  private struct Entry {
    let box: any DependencyBoxing
    /// Whether the value was used, so that it is too late to prepare another one. A value that was only read to be
    /// changed, as in `$0.client.timeout = 1`, was not used.
    var isSettled: Bool
    /// The issue to report when it is settled.
    var issue: PostponedIssue?
  }

  private struct State {
    var entries: [ID: Entry] = [:]
    /// The prepared context.
    var context: DependencyContext?

    func context(or override: DependencyContext?) -> DependencyContext {
      override ?? context ?? .detected
    }
  }

  private let state = Mutex(State())
  /// Counts the tests that the cache has served, one after the other.
  private let generation = Atomic(0)

  package init() {}

  /// The cache of the process: of the program, or of code in a test process that belongs to no known test.
  package static let process = DependencyCache()

  /// The cache of the test that the caller runs in, or of the process.
  static var current: DependencyCache {
    currentTest ?? process
  }

  /// The cache of the test that the caller runs in; `nil` outside of tests.
  static var currentTest: DependencyCache? {
    guard isTesting, let run = TestRun.current else { return nil }
    return TestCaches.shared.cache(for: run)
  }

  /// Forgets everything, as between two tests. Ends dependencies that run by themselves.
  ///
  /// - Returns: Holds the forgotten values, so that the caller can choose when they are released.
  @discardableResult
  package func reset() -> any Sendable {
    // The old state is released after the lock, because deinitialisers of values are user code.
    let old = state.withLock { state in
      let old = state.entries.values.map(\.box)
      state = State()
      return old
    }
    generation.add(1, ordering: .relaxed)
    for box in old { box.testDidEnd() }
    return old
  }

  /// Fails the run of the tests where the caller's test is unknown, as in a detached task. Where nothing in the process
  /// distinguishes all tests, that is reported once.
  ///
  /// - Parameter message: Makes the message, when it is needed.
  package static func reportUnknownTest(_ message: () -> String) {
    let values = DependencyValues.current
    guard values.cache == nil, values.overrides.isEmpty else { return }
    guard let provider = TestRun.provider else {
      if isTesting { _ = reportsThatTestsShareValues }
      return
    }
    guard TestRun.current == nil else { return }
    _ = provider.reportBesideTests(message())
  }

  private static let reportsThatTestsShareValues: Void = {
    let message = """
      Tests of this target may share their values, such as one fake Redis and one storage in memory: the cases of a \
      parameterised test do, and all tests of XCTest. Add the product that separates them to the dependencies of the \
      test target: 'SharedStateTesting' of the package 'swift-shared-state', or 'SharedStateRedisTesting', where it uses \
      '.redis' keys.
      """
    reportIssue(message)
    // Nothing records the issue where the test target does not link IssueReporting's support, either.
    try? FileHandle.standardError.write(contentsOf: Data("SharedState: \(message)\n".utf8))
  }()

  /// Distinguishes one test from another: by its cache, and by the number of resets, as between tests of XCTest.
  package struct Generation: Sendable {
    private let cache: DependencyCache
    private let number: Int

    /// The test of the caller, or the part of a test process that belongs to no known test.
    package static var current: Generation {
      let cache = DependencyValues.current.cache ?? .current
      return Generation(cache: cache, number: cache.generation.load(ordering: .relaxed))
    }

    /// Whether the caller is known to belong to another test. With Swift Testing, the test of a detached task or a
    /// thread is unknown; with XCTest, tests run one after the other.
    package var isOver: Bool {
      let current = DependencyValues.current.cache ?? .currentTest
      if let current { return current !== cache || isReset }
      return cache === DependencyCache.process && isReset
    }

    private var isReset: Bool { cache.generation.load(ordering: .relaxed) != number }
  }

  /// The context in force, unless a scope overrides it.
  func context(or override: DependencyContext?) -> DependencyContext {
    state.withLock { $0.context(or: override) }
  }

  /// Looks a value up. If there is none yet, makes the default and keeps it.
  /// - Parameters:
  ///   - context: The context of the scope, if that overrides it.
  ///   - settles: Whether the value can no longer be prepared from now on.
  func value<Key: TestDependencyKey>(
    of key: Key.Type,
    context: DependencyContext?,
    settles: Bool,
    default makeDefault: (DependencyContext) -> Key.Value
  ) -> Key.Value {
    let (found, issue, id) = state.withLock { state in
      let id = ID(key: ObjectIdentifier(key), context: state.context(or: context))
      let entry = state.entries[id]
      guard settles, let entry, !entry.isSettled else { return (entry?.box, PostponedIssue?.none, id) }
      state.entries[id] = Entry(box: entry.box, isSettled: true)
      return (entry.box, entry.issue, id)
    }
    if let found {
      issue?.report()
      return found.value(of: key)
    }
    let postponed = settles ? nil : PostponedIssue()
    let made = PostponedIssue.$current.withValue(postponed) { DependencyBox<Key>(makeDefault(id.context)) }
    if let postponed, postponed.isIncomplete { return made.value }
    let kept = state.withLock { state in
      var entry = state.entries[id] ?? Entry(box: made, isSettled: settles, issue: postponed)
      if settles {
        entry.isSettled = true
        entry.issue = nil
      }
      state.entries[id] = entry
      return entry.box
    }
    return kept.value(of: key)
  }

  /// Takes values as defaults.
  /// - Parameters:
  ///   - scope: The context of the scope, if that overrides it; the values become its defaults.
  ///   - context: The context from now on; `nil` keeps the present one.
  /// - Returns: The names of the keys for which it is too late, and which keep their values.
  func prepare(
    _ boxes: [ObjectIdentifier: any DependencyBoxing],
    scope: DependencyContext?,
    context: DependencyContext?
  ) -> [String] {
    let (late, _) = state.withLock { state in
      var late: [String] = []
      // Released after the lock, as in `reset()`.
      var replaced: [any DependencyBoxing] = []
      state.context = context ?? state.context
      for (key, box) in boxes {
        let id = ID(key: key, context: state.context(or: scope))
        if let entry = state.entries[id] {
          guard !entry.isSettled else {
            late.append(box.keyName)
            continue
          }
          replaced.append(entry.box)
        }
        state.entries[id] = Entry(box: box, isSettled: true)
      }
      return (late, replaced)
    }
    return late.sorted()
  }
}

/// A stored value of a dependency, of any key.
///
/// A class, because it is cast faster than an existential, and because a cast would flatten an optional value.
protocol DependencyBoxing: AnyObject, Sendable {
  /// The key's name, for messages.
  var keyName: String { get }
  /// Called when the test that the value belongs to has ended.
  func testDidEnd()
}

extension DependencyBoxing {
  /// The value, for the key that it was stored with.
  func value<Key: TestDependencyKey>(of key: Key.Type) -> Key.Value {
    // Boxes are stored under the type of their key, so the class is certain. A checked cast would take a good part of a
    // look-up.
    unsafeDowncast(self, to: DependencyBox<Key>.self).value
  }
}

/// The value of one key.
final class DependencyBox<Key: TestDependencyKey>: DependencyBoxing {
  let value: Key.Value

  init(_ value: Key.Value) {
    self.value = value
  }

  var keyName: String { "\(Key.self)" }

  func testDidEnd() { (value as? any EndsWithTest)?.testDidEnd() }
}
