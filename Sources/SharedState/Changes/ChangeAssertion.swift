import Synchronization

/// The expectations that a closure of ``SharedChangeTracker/assert(_:fileID:filePath:line:column:)-swift.method``
/// states, one for each reference that it mutates.
final class ChangeAssertion: Sendable {
  private let find: @Sendable (Reference) -> Expectation?
  /// Whether reading a share tells what is expected of it, too.
  let coversReads: Bool
  private let expectations = Mutex<[ObjectIdentifier: Expectation]>([:])

  init(of tracker: SharedChangeTracker) {
    find = { tracker.change(of: $0)?.makeExpectation() }
    coversReads = false
  }

  /// An assertion whose expectations begin elsewhere.
  init(startingAt find: @escaping @Sendable (Reference) -> Expectation) {
    self.find = find
    coversReads = true
  }

  /// What was stated, by reference.
  var stated: [ObjectIdentifier: Expectation] { expectations.withLock { $0 } }

  /// What the reference is expected to be; at first what it was before it changed.
  func expectation(of reference: Reference) -> Expectation {
    let id = ObjectIdentifier(reference)
    let made = presentExpectation(of: reference) ?? reference.expectationOfNoChange()
    return expectations.withLock { expectations in
      let expectation = expectations[id] ?? made
      expectations[id] = expectation
      return expectation
    }
  }

  /// What the reference is expected to be up to now; `nil` when it has not changed, and nobody expects it to.
  func presentExpectation(of reference: Reference) -> Expectation? {
    let stated = expectations.withLock { $0[ObjectIdentifier(reference)] }
    return stated ?? find(reference)
  }

  /// What is wrong: with the expectations, and with the changes that none of them is about.
  func failures(changes: [TrackedChange]) -> [String] {
    var stated = expectations.withLock { $0 }
    let inOrder = changes.map { change in
      let expectation = stated.removeValue(forKey: ObjectIdentifier(change.reference))
      return (expectation ?? change.makeExpectation()).failure(isExplicit: expectation != nil)
    }
    return (inOrder + stated.values.map { $0.failure(isExplicit: true) }).compactMap(\.self)
  }

  /// The text of a failure: a change was asserted, and there is none.
  static var nothingChanged: String { "Expected state to change, but no change occurred." }

  /// The text of a failure: the value is another one than the assertion says.
  static func unexpected<Value>(expected: Value, actual: Value) -> String {
    """
    State was not expected to change, but a change occurred: …

    \(Difference.text(expected, actual, indentation: 4))

    (Expected: −, Actual: +)
    """
  }
}

extension Reference {
  func expectationOfNoChange() -> Expectation {
    lock.lock()
    defer { unlock() }
    return makeExpectation()
  }
}
