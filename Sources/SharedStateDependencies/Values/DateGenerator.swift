public import Foundation

/// Returns the date and time, as the dependency `date`.
///
/// ```swift
/// @Dependency(\.date.now) var now
/// ```
///
/// In a test, override it with `$0.date = .constant(…)`, or `$0.date.now = …`.
public struct DateGenerator: Sendable {
  private var generate: @Sendable () -> Date

  /// A generator that calls a closure each time, on any thread.
  public init(_ generate: @escaping @Sendable () -> Date) {
    self.generate = generate
  }

  /// A generator that always returns the same date.
  public static func constant(_ now: Date) -> Self {
    Self { now }
  }

  /// The present date. Once it is set, it stays the same.
  public var now: Date {
    get { generate() }
    set { self = .constant(newValue) }
  }

  /// The present date.
  public func callAsFunction() -> Date {
    generate()
  }
}

extension DependencyValues {
  /// The date and time. A test that does not override it fails when it uses it.
  public var date: DateGenerator {
    get { self[DateGeneratorKey.self] }
    set { self[DateGeneratorKey.self] = newValue }
  }

  private enum DateGeneratorKey: DependencyKey {
    static var liveValue: DateGenerator { DateGenerator { Date() } }
  }
}
