public import Foundation

/// A replay that has not come to the recorded states.
public struct ReplayError: Error, LocalizedError, CustomStringConvertible {
  /// The number of the first action after which the state differs, as in ``RecordedAction/number``; `nil` when the replay
  /// could not begin.
  public let number: Int?
  /// What differs, with the action and the state.
  public let description: String

  /// The same as ``description``.
  public var errorDescription: String? { description }
}
