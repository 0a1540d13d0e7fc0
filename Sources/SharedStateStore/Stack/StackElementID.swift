public import SharedStateDependencies
import Synchronization

/// The identity of an element of a stack.
///
/// In a test the first identity is `0`, the next one `1`, and so on, so that it can be written as a number.
public struct StackElementID: Hashable, Comparable, Codable, Sendable, ExpressibleByIntegerLiteral,
  CustomStringConvertible
{
  @usableFromInline
  let number: Int

  init(_ number: Int) {
    self.number = number
  }

  /// The identity with a number.
  public init(integerLiteral value: Int) {
    number = value
  }

  /// Decodes the number.
  public init(from decoder: any Decoder) throws {
    number = try decoder.singleValueContainer().decode(Int.self)
  }

  /// Encodes the number.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(number)
  }

  /// Whether the first identity is older.
  @inlinable
  public static func < (lhs: Self, rhs: Self) -> Bool { lhs.number < rhs.number }

  /// The number.
  public var description: String { "#\(number)" }
}

/// Makes the identities of elements of stacks, as the dependency `stackElementID`.
public struct StackElementIDGenerator: Sendable {
  private let count: Count

  private final class Count: Sendable {
    let next: Atomic<Int>

    init(_ next: Int) {
      self.next = Atomic(next)
    }
  }

  /// A generator of `0`, `1` and so on.
  public static var incrementing: Self { Self(from: 0) }

  package init(from first: Int) {
    count = Count(first)
  }

  /// The next identity.
  public func next() -> StackElementID {
    StackElementID(count.next.wrappingAdd(1, ordering: .relaxed).oldValue)
  }

  /// The next identity; the same as ``next()``.
  public func callAsFunction() -> StackElementID { next() }

  /// The next identity, without using it up.
  public func peek() -> StackElementID {
    StackElementID(count.next.load(ordering: .relaxed))
  }

  package var nextNumber: Int { peek().number }

  /// Counts an identity from elsewhere, and all older ones, as used.
  func use(_ id: StackElementID) {
    // After the last number this changes nothing, instead of overflowing.
    count.next.max(id.number &+ 1, ordering: .relaxed)
  }

  /// Sets the next identity.
  func setNext(_ number: Int) {
    count.next.store(number, ordering: .relaxed)
  }
}

extension DependencyValues {
  /// Makes the identities of elements of stacks.
  public var stackElementID: StackElementIDGenerator {
    get { self[StackElementIDKey.self] }
    set { self[StackElementIDKey.self] = newValue }
  }

  private enum StackElementIDKey: DependencyKey {
    static var liveValue: StackElementIDGenerator { .incrementing }
    static var testValue: StackElementIDGenerator { .incrementing }
  }
}

/// The identities of a stack at one moment.
@usableFromInline
struct StackIDs: Sendable {
  @usableFromInline
  let ids: [StackElementID]
  /// Whether each element is younger than the one below.
  @usableFromInline
  let isInOrder: Bool

  @inlinable
  init(ids: [StackElementID], isInOrder: Bool) {
    self.ids = ids
    self.isInOrder = isInOrder
  }
}
