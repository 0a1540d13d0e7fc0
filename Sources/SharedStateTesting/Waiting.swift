import Dispatch
import SharedStateDependencies
import Synchronization
public import Testing

/// How long a test waits before it fails. Generous, because only a failing test waits this long.
#if THREAD_SANITIZER
  package let patience = Duration.seconds(180)
#else
  package let patience = Duration.seconds(60)
#endif

/// How often a test repeats what only many repetitions show.
///
/// - Parameter sanitized: How often under the thread sanitizer, where they take ten times as long; `nil`: a tenth of it.
package func repetitions(_ count: Int, sanitized: Int? = nil) -> Int {
  #if THREAD_SANITIZER
    sanitized ?? count / 10
  #else
    count
  #endif
}

/// The error of a wait for a condition that did not come true in time, or before its task was cancelled.
package struct WaitedInVain: Error, CustomStringConvertible {
  package let description: String

  /// - Parameter timeout: The time that has passed; `nil`: the wait has ended before its deadline.
  package init(for what: String, within timeout: Duration? = nil, found: String? = nil) {
    let outcome =
      timeout.map { "Timed out after \(Self.seconds($0)) s waiting for \(what)" } ?? "the wait for \(what) failed"
    description = outcome + (found.map { "; found: \($0)" } ?? "")
  }

  private static func seconds(_ time: Duration) -> String {
    let seconds = time / .seconds(1)
    return Int(exactly: seconds).map { "\($0)" } ?? "\(seconds)"
  }
}

extension AsyncSequence where Self: Sendable, Element: Sendable {
  /// Waits for an element that satisfies a closure, and returns it.
  ///
  /// ```swift
  /// try await $config.updates.first(within: .seconds(10)) { $0.maximumItems == 20 }
  /// ```
  /// It works with the `updates` of a share or a store, and with every other sequence that ends when its task is
  /// cancelled.
  ///
  /// - Parameters:
  ///   - timeout: How long to wait. Only a failing test waits this long, so it can be generous.
  ///   - sourceLocation: The place of the issue in the source.
  ///   - isWanted: Is asked about each element, in order, on the task of this call.
  /// - Throws: An error that names the last element, when none is wanted in time, or before the sequence ends. It is
  ///   recorded as an issue of this line, too, unless the task was cancelled. Errors of the sequence are thrown as they
  ///   are.
  @discardableResult
  public func first(
    within timeout: Duration,
    sourceLocation: SourceLocation = #_sourceLocation,
    where isWanted: @escaping @Sendable (Element) -> Bool
  ) async throws -> Element {
    let last = Last<Element>()
    let what = "an element"
    return try await inTime(what, within: timeout, found: { last.description }, sourceLocation: sourceLocation) {
      for try await element in self {
        last.set(element)
        if isWanted(element) { return element }
      }
      if Task.isCancelled { throw CancellationError() }
      throw WaitedInVain(for: what, found: "\(last), and the sequence has ended")
    }
  }
}

/// The last element that a wait has seen.
private final class Last<Element: Sendable>: Sendable, CustomStringConvertible {
  private let element = Mutex<Element?>(nil)

  func set(_ element: Element) { self.element.withLock { $0 = element } }

  var description: String { element.withLock { $0 }.map { "\($0)" } ?? "none" }
}

/// Waits for a closure to return, for at most ``patience`` and the test's time limit.
///
/// Cancelling a task does not end a wait by itself, so `wait` has to end when its task is cancelled. A test that kept
/// waiting after its time limit would never end, and neither would the whole run.
/// - Parameters:
///   - what: A description of the awaited event, for the failure.
///   - timeout: How long to wait.
///   - found: A description of the state when the wait failed, for the failure.
/// - Throws: ``WaitedInVain``. When the time is over, it is recorded as an issue first. When the task is cancelled, it
///   is not, because the test may intend that. Errors of `wait` are thrown as they are.
package func inTime<Result: Sendable>(
  _ what: String,
  within timeout: Duration = patience,
  found: (@Sendable () -> String)? = nil,
  sourceLocation: SourceLocation = #_sourceLocation,
  wait: @escaping @Sendable () async throws -> Result
) async throws -> Result {
  do {
    return try await Deadline.run(within: timeout, operation: wait) {
      WaitedInVain(for: what, within: timeout, found: found?())
    }
  } catch let error as WaitedInVain {
    Issue.record("\(error)", sourceLocation: sourceLocation)
    throw error
  } catch is CancellationError where Task.isCancelled {
    throw WaitedInVain(for: what, found: found?())
  }
}

/// Waits for a condition that can only be polled, such as one that another process brings about.
package func eventually(
  _ what: String,
  sourceLocation: SourceLocation = #_sourceLocation,
  _ isSo: @escaping @Sendable () async throws -> Bool
) async throws {
  try await inTime(what, sourceLocation: sourceLocation) {
    while try await !isSo() { try await Task.sleep(for: .milliseconds(2)) }
  }
}

extension DispatchSemaphore {
  /// Blocks the thread until the semaphore is signalled, for at most ``patience``.
  ///
  /// - Returns: Whether it was signalled.
  @discardableResult
  package func waitInTime() -> Bool {
    let (seconds, _) = patience.components
    return wait(timeout: .now() + .seconds(Int(seconds))) == .success
  }
}

/// Expects what a call waits for before it returns, for a second at most.
///
/// On a machine that has stopped the threads of this process for as long, the call returns before. Then this waits.
package func expectBehindCall(
  begunAt start: ContinuousClock.Instant,
  _ what: String,
  sourceLocation: SourceLocation = #_sourceLocation,
  _ isSo: @escaping @Sendable () -> Bool
) async throws {
  if ContinuousClock.now - start < .seconds(1) { return #expect(isSo(), sourceLocation: sourceLocation) }
  try await eventually(what, sourceLocation: sourceLocation, isSo)
}
