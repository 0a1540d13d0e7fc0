import Foundation
import IssueReporting

/// The environment of a program, which decides on the kind of default that a dependency has.
///
/// Override it like any dependency: `withDependencies { $0.context = .live } operation: { … }`.
public enum DependencyContext: Hashable, Sendable {
  /// The program itself: ``DependencyKey/liveValue``.
  case live
  /// A preview of a user interface: ``TestDependencyKey/previewValue``.
  case preview
  /// A test: ``TestDependencyKey/testValue``.
  case test

  /// The context that this process was started in.
  static let detected = detect(isTesting: isTesting, environment: ProcessInfo.processInfo.environment)

  /// Finds the context from facts about a process.
  static func detect(isTesting: Bool, environment: [String: String]) -> DependencyContext {
    if isTesting {
      return .test
    }
    return environment["XCODE_RUNNING_FOR_PREVIEWS"] == "1" ? .preview : .live
  }
}
