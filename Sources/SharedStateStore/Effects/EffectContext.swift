/// What an effect knows of the place that it runs in.
final class EffectContext: Sendable {
  /// That of the effect which the current task belongs to.
  @TaskLocal static var current: EffectContext?

  let registry: CancellationRegistry
  let node: EffectNode
  let path: EffectPath
  /// Sends the action that lets the innermost child go; `nil` when there is none that could.
  let dismiss: (@Sendable () -> Void)?

  init(registry: CancellationRegistry, node: EffectNode, path: EffectPath, dismiss: (@Sendable () -> Void)?) {
    self.registry = registry
    self.node = node
    self.path = path
    self.dismiss = dismiss
  }
}
