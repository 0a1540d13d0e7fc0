/// An action that a store has reduced.
public struct RecordedAction<Action: Sendable>: Sendable {
  /// Which one it was, from 1.
  public let number: Int
  /// The action.
  public let action: Action
  /// Whether an effect of the store has sent it; otherwise it came from outside, by `send`.
  public let isSentByEffect: Bool

  /// An action of a log.
  public init(number: Int, action: Action, isSentByEffect: Bool) {
    self.number = number
    self.action = action
    self.isSentByEffect = isSentByEffect
  }
}

extension RecordedAction: Equatable where Action: Equatable {}
