import Synchronization

/// Identifies a key as the author of the changes that it saves, because it is not notified of those.
///
/// The type of the value is not enough: two types of keys may keep values of one type in the same place.
struct KeyAuthor: Equatable, Sendable {
  private static let made = Atomic<UInt64>(0)

  private let number = made.wrappingAdd(1, ordering: .relaxed).newValue
}
