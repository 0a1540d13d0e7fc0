import SharedStateDependencies
import Synchronization
import Testing
import XCTest

/// Reports to the module SharedStateDependencies, which links no test framework, which test is running.
///
/// The class is found at run time by its name, so it is enough to link this module into a test target. Package access
/// keeps the optimiser from removing code that seems unused.
package final class CurrentTest: TestRunProvider {
  /// One case of one test.
  private struct Identity: Hashable, Sendable {
    let test: Test.ID
    let `case`: CaseIdentity?
  }

  /// The number of the test and the case that the current task belongs to.
  ///
  /// Each use of a share that a test has made asks for it, so results are cached.
  package static var currentTestRun: AnyHashable? {
    _ = observation
    guard let testCase = Test.Case.current else { return numberOfCurrentTest(nil) }
    if let number = known.withLock({ $0.number(of: testCase) }) { return number }
    let number = numberOfCurrentTest(testCase)
    // Fetched again to get another copy, whose padding differs.
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
  /// The objects that the bytes point to are retained, so no other case has the same bytes. Padding differs from copy
  /// to copy, and is left out. Until all of it is known, a known case may be mistaken for an unknown one, which only
  /// costs time.
  private struct KnownCases {
    /// More cases than run at the same time.
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

    /// Returns `nil` if a case is larger than in the known versions of Swift. The number is then looked up by
    /// reflection each time.
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

  /// Whether a test of Swift Testing has run.
  private static let hasSeenTest = Atomic(false)
  private static let runsXCTest = Atomic(false)

  /// Starts watching XCTest, once.
  private static let observation: Void = XCTestObservationCenter.shared.addTestObserver(Observer())

  /// Makes fresh values for every test of XCTest. These tests run one after the other, and share the cache of the
  /// process.
  private final class Observer: NSObject, XCTestObservation {
    // The values of the last test. A deinitialiser of a value may record a failure. XCTest would end the program if
    // that happened between tests, so the values are released when the next test begins, or the suite has ended.
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
