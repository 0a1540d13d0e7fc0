public import Foundation
import Synchronization

/// Makes identifiers, as the dependency `uuid`.
///
/// ```swift
/// @Dependency(\.uuid) var uuid
/// let todo = Todo(id: uuid())
/// ```
///
/// In a test, override it with `$0.uuid = .incrementing`.
public struct UUIDGenerator: Sendable {
  private let generate: @Sendable () -> UUID

  /// A generator that calls a closure each time, on any thread.
  public init(_ generate: @escaping @Sendable () -> UUID) {
    self.generate = generate
  }

  /// A generator that always returns the same identifier.
  public static func constant(_ uuid: UUID) -> Self {
    Self { uuid }
  }

  /// A new generator of `UUID(0)`, `UUID(1)` and so on, for calls from any thread.
  public static var incrementing: Self {
    let count = Count()
    return Self { UUID(count.next()) }
  }

  /// A new identifier.
  public func callAsFunction() -> UUID {
    generate()
  }

  private final class Count: Sendable {
    private let count = Atomic(0)

    func next() -> Int {
      count.wrappingAdd(1, ordering: .relaxed).oldValue
    }
  }
}

extension DependencyValues {
  /// Makes identifiers. A test that does not override it fails when it uses it.
  public var uuid: UUIDGenerator {
    get { self[UUIDGeneratorKey.self] }
    set { self[UUIDGeneratorKey.self] = newValue }
  }

  private enum UUIDGeneratorKey: DependencyKey {
    static var liveValue: UUIDGenerator { UUIDGenerator { UUID() } }
  }
}

extension UUID {
  /// An identifier for tests that ends in a number, in hexadecimal digits: `00000000-0000-0000-0000-00000000002A` for
  /// 42.
  public init(_ number: Int) {
    let bits = UInt64(bitPattern: Int64(number))
    func byte(_ index: UInt64) -> UInt8 { UInt8(truncatingIfNeeded: bits >> (8 * index)) }
    self.init(
      uuid: (
        0, 0, 0, 0, 0, 0, 0, 0,
        byte(7), byte(6), byte(5), byte(4), byte(3), byte(2), byte(1), byte(0)
      )
    )
  }
}
