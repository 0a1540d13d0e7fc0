import SharedStateDependencies
import Synchronization
import Testing
import XCTest

/// Tells the module SharedStateDependencies, which links no test framework, in which test it is used.
///
/// Found at run time by its name: linking this module into a test target is all it takes. Package access keeps the
/// optimiser from removing what seems unused.
package final class CurrentTest: TestRunProvider {
  /// One case of one test.
  private struct Identity: Hashable, Sendable {
    let test: Test.ID
    let `case`: CaseIdentity?
  }

  /// The number of the test and the case that the current task belongs to.
  ///
  /// It is asked for at each use of a share that a test has made, so what was found out is remembered.
  package static var currentTestRun: AnyHashable? {
    _ = observation
    guard let testCase = Test.Case.current else { return numberOfCurrentTest(nil) }
    if let number = known.withLock({ $0.number(of: testCase) }) { return number }
    let number = numberOfCurrentTest(testCase)
    // Fetched anew, so that it is another copy.
    if let number, let copy = Test.Case.current {
      known.withLock { $0.remember(testCase, copy: copy, number: number) }
    }
    return number
  }

  private static func numberOfCurrentTest(_ testCase: Test.Case?) -> Int? {
    guard let test = Test.current else { return nil }
    hasSeenTest.store(true, ordering: .relaxed)
    let identity = Identity(test: test.id, case: testCase.flatMap(CaseIdentity.init))
    return known.withLock { $0.number(of: identity) }
  }

  private static let known = Mutex(KnownCases())

  /// Finds the number of a case by the bytes of its value, which takes a hundredth of the time of reflection.
  ///
  /// What the bytes point to is held, so no other case has the same ones. Padding differs from copy to copy, and is left
  /// out; until all of it is known, a case is taken for an unknown one, which only takes time.
  private struct KnownCases {
    /// More than are under way at once.
    private static let maximumCases = 1_024

    private var numbers: [Identity: Int] = [:]
    private var cases: [Words: (testCase: Test.Case, number: Int)] = [:]
    private var known = Words(repeating: .max)

    mutating func number(of identity: Identity) -> Int {
      let number = numbers[identity] ?? numbers.count
      numbers[identity] = number
      return number
    }

    func number(of testCase: Test.Case) -> Int? {
      Words(testCase).flatMap { cases[$0 & known]?.number }
    }

    mutating func remember(_ testCase: Test.Case, copy: Test.Case, number: Int) {
      guard let words = Words(testCase), let others = Words(copy) else { return }
      let known = known & ~(words ^ others)
      if known != self.known || cases.count >= Self.maximumCases { cases = [:] }
      self.known = known
      cases[words & known] = (testCase, number)
    }
  }

  /// The memory of a case.
  private struct Words: Hashable, Sendable {
    private var words: SIMD8<UInt64>

    init(repeating word: UInt64) {
      words = SIMD8(repeating: word)
    }

    /// `nil`: it is larger than in the versions of Swift that are known, and all is found out each time.
    init?(_ testCase: Test.Case) {
      guard MemoryLayout<Test.Case>.size <= MemoryLayout<SIMD8<UInt64>>.size else { return nil }
      words = .zero
      withUnsafeBytes(of: testCase) { bytes in withUnsafeMutableBytes(of: &words) { $0.copyMemory(from: bytes) } }
    }

    private init(_ words: SIMD8<UInt64>) {
      self.words = words
    }

    static func & (lhs: Words, rhs: Words) -> Words { Words(lhs.words & rhs.words) }
    static func ^ (lhs: Words, rhs: Words) -> Words { Words(lhs.words ^ rhs.words) }
    static prefix func ~ (words: Words) -> Words { Words(~words.words) }
  }

  package static func reportBesideTests(_ message: String) -> Bool {
    guard Test.current == nil, hasSeenTest.load(ordering: .relaxed), !runsXCTest.load(ordering: .relaxed) else {
      return false
    }
    Issue.record(Comment(rawValue: message))
    return true
  }

  /// Whether there was a test of Swift Testing.
  private static let hasSeenTest = Atomic(false)
  private static let runsXCTest = Atomic(false)

  /// Starts watching XCTest, once.
  private static let observation: Void = XCTestObservationCenter.shared.addTestObserver(Observer())

  /// Gives every test of XCTest fresh values: they run one after the other, and share the cache of the process.
  private final class Observer: NSObject, XCTestObservation {
    // XCTest ends the program when somebody records a failure now, as a deinitialiser of a value may. The next test, or
    // the suite, can have it.
    private var ended: (any Sendable)?

    func testCaseDidFinish(_ testCase: XCTestCase) {
      ended = DependencyCache.process.reset()
      runsXCTest.store(false, ordering: .relaxed)
    }

    func testCaseWillStart(_ testCase: XCTestCase) {
      ended = nil
      runsXCTest.store(true, ordering: .relaxed)
    }

    func testSuiteDidFinish(_ testSuite: XCTestSuite) {
      ended = nil
    }
  }
}
