/// What waits to be reduced.
@usableFromInline
package enum Letter<Action: Sendable>: Sendable {
  /// An action, and the effect or the action that it comes from, or one of its own when it comes from outside. That has
  /// begun something, which ends when this is reduced.
  case action(Action, from: EffectNode, isSentByEffect: Bool)
  /// An effect that begins as a part of another one, on behalf of a child.
  case effect(Effect<Action>, EffectPlace)
  /// Somebody has begun to observe or ended that, or a share in the state has changed, which is news for all who observe.
  case look(isNews: Bool)
}

/// Where an effect belongs.
@usableFromInline
package struct EffectPlace: Sendable {
  // It has no parameter: to pass on what the compiler does not know takes longer than most of what an effect does.

  let node: EffectNode
  let path: EffectPath
  /// Sends the action that lets the innermost child go, for an effect; `nil` when there is none that could.
  let dismiss: (@Sendable (EffectNode) -> Void)?
}
