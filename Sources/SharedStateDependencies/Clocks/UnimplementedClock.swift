public import Foundation
import IssueReporting

/// A clock that must not be used: each use reports an issue, which fails a test, and continues with another clock.
///
/// It is the dependencies `continuousClock` and `suspendingClock` in tests. Pass it to code that should not need a clock.
/// It may be used from any thread.
public struct UnimplementedClock<Base: Clock>: Clock {
  private let base: Base
  private let name: String
  private let access: DependencyAccess

  /// A clock that reports its uses.
  /// - Parameters:
  ///   - base: The clock that is used after the issue.
  ///   - name: The name of the missing clock in the issue.
  public init(
    _ base: Base,
    name: String = "a clock",
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) {
    self.init(
      base,
      name: name,
      access: DependencyAccess(fileID: fileID, filePath: filePath, line: line, column: column)
    )
  }

  init(_ base: Base, name: String, access: DependencyAccess) {
    self.base = base
    self.name = name
    self.access = access
  }

  /// The time of the base, with an issue.
  public var now: Base.Instant {
    report("now")
    return base.now
  }

  /// The resolution of the base, with an issue.
  public var minimumResolution: Base.Instant.Duration {
    report("minimumResolution")
    return base.minimumResolution
  }

  /// Reports an issue, and sleeps on the base.
  /// - Throws: The error of the base.
  public func sleep(until deadline: Base.Instant, tolerance: Base.Instant.Duration?) async throws {
    report("sleep(until:)")
    try await base.sleep(until: deadline, tolerance: tolerance)
  }

  private func report(_ use: String) {
    reportIssue(
      "\(name) is not implemented, but its '\(use)' was used. Override it with a test clock or an immediate one.",
      fileID: access.fileID,
      filePath: access.filePath,
      line: access.line,
      column: access.column
    )
  }
}

extension UnimplementedClock where Base == ImmediateClock<Swift.Duration> {
  /// A clock that reports its uses, and ends every sleep immediately.
  /// - Parameter name: The name of the missing clock in the issue.
  public init(
    name: String = "a clock",
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) {
    self.init(ImmediateClock(), name: name, fileID: fileID, filePath: filePath, line: line, column: column)
  }
}

/// A task sleeps on a ``TestClock``, although none should.
public struct SuspensionError: Error, Equatable, LocalizedError, CustomStringConvertible {
  /// A message for people.
  public var description: String { "A task sleeps on the test clock, or is about to." }

  init() {}

  /// The same as ``description``.
  public var errorDescription: String? { description }
}
