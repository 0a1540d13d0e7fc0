import SharedState
import SharedStateDependencies

/// The part of a core that is needed for effects.
final class CoreEffects: Sendable {
  /// The parent of all work that actions have caused and that has not ended.
  let root = EffectNode()
  let registry = CancellationRegistry()
  /// The name of the feature, for messages. It is kept because making it takes longer than beginning an effect.
  let name: String

  init(name: String) {
    self.name = name
  }
}

extension RootCore {
  /// Begins an effect. Called with the lock held: calls of user code are left as work.
  func collect(_ effect: Effect<Action>, _ place: EffectPlace, _ effects: CoreEffects, _ work: inout Work) {
    guard let operation = effect.box?.operation else { return }
    let registry = effects.registry
    switch operation {
    case .send(let action):
      place.node.begin()
      queue.append(.action(action, from: place.node, isSentByEffect: true))
    case .run(let task):
      let context = context(in: place, registry)
      work.tasks.append { [self] in start(task, context, effects.name) }
    case .subscribe(let source):
      let context = context(in: place, registry)
      work.tasks.append { [self] in start(source, context, effects.name) }
    case .merge(let parts):
      for part in parts { collect(part, place, effects, &work) }
    case .concatenate(let parts):
      begin(parts, place, effects, &work)
    case .cancellable(let effect, let id, let cancelInFlight):
      if cancelInFlight { work.tasks += registry.markCancelled(id: id, path: place.path, before: place.node) }
      let node = EffectNode(in: place.node)
      registry.register(node, id: id, path: place.path)
      collect(effect, EffectPlace(node: node, path: place.path, dismiss: place.dismiss), effects, &work)
      node.end()
    case .cancel(let id):
      work.tasks += registry.markCancelled(id: id, path: place.path)
    case .part(let effect, let component):
      let part = EffectPlace(node: place.node, path: place.path + [component], dismiss: place.dismiss)
      collect(effect, part, effects, &work)
    case .child(let effect, let component, let dismissal):
      let node = EffectNode(in: place.node)
      registry.register(node, child: component, path: place.path)
      self.registry = registry
      var dismiss = place.dismiss
      if let dismissal {
        dismiss = { [weak self] node in self?.receive(dismissal, from: node, at: nil) }
      }
      collect(effect, EffectPlace(node: node, path: place.path + [component], dismiss: dismiss), effects, &work)
      node.end()
    case .farewell(let component):
      work.tasks += registry.markCancelled(child: component, path: place.path)
    }
  }

  /// Begins the first of several effects, and the others when it has ended.
  private func begin(_ parts: [Effect<Action>], _ place: EffectPlace, _ effects: CoreEffects, _ work: inout Work) {
    var rest = parts[...]
    // Immediate effects need no turn of their own.
    while let first = rest.first, first.isImmediate {
      collect(first, place, effects, &work)
      rest.removeFirst()
    }
    guard let first = rest.popFirst() else { return }
    let node = EffectNode(in: place.node)
    collect(first, EffectPlace(node: node, path: place.path, dismiss: place.dismiss), effects, &work)
    if !rest.isEmpty {
      let rest = Effect.concatenate(rest)
      node.whenEnded { [weak self] in
        guard let self, !place.node.isCancelled else { return }
        place.node.begin()
        deliver(.effect(rest, place))
      }
    }
    node.end()
  }

  private func context(in place: EffectPlace, _ registry: CancellationRegistry) -> EffectContext {
    let node = EffectNode(in: place.node)
    var dismiss: (@Sendable () -> Void)?
    if let dismissNode = place.dismiss {
      dismiss = { dismissNode(node) }
    }
    var dismissAlone: (@Sendable () -> Void)?
    if let record = monitor?.recordDismissal {
      dismissAlone = { [weak self] in
        record()
        self?.effects.root.cancel()
      }
    }
    return EffectContext(
      registry: registry,
      node: node,
      path: place.path,
      dismiss: dismiss,
      dismissAlone: dismissAlone
    )
  }

  // MARK: Without the lock

  private func start(_ task: EffectTask<Action>, _ context: EffectContext, _ feature: String) {
    let node = context.node
    guard !node.isCancelled else { return node.end() }
    let send = send(from: node, at: task.location, feature)
    let monitor = monitor
    let schedule = Schedules.current
    let participant = schedule?.announce("effect of \(feature), \(task.location.fileID):\(task.location.line)")
    let operation: @Sendable () async -> Void = {
      await EffectContext.$current.withValue(context) {
        await task.run(send) { problem, location in
          let message = "An effect of '\(feature)' \(problem)"
          if let monitor { monitor.report(message, at: location) } else { location.report(message) }
        }
      }
      node.end()
      if let participant { schedule?.end(participant) }
    }
    let running =
      if let executor = monitor?.executor ?? schedule?.executor {
        Task(name: task.name, executorPreference: executor, priority: task.priority, operation: operation)
      } else {
        Task(name: task.name, priority: task.priority, operation: operation)
      }
    node.attach(running)
  }

  private func start(_ source: EffectSource<Action>, _ context: EffectContext, _ feature: String) {
    let node = context.node
    guard !node.isCancelled else { return node.end() }
    let hasEnded = Once()
    let end: @Sendable () -> Void = {
      if hasEnded.take() { node.end() }
    }
    let stop = source.start(send(from: node, at: nil, feature), end)
    node.whenCancelled {
      stop()
      end()
    }
  }

  private func send(from node: EffectNode, at location: CallSite?, _ feature: String) -> Send<Action> {
    Send { [weak self] action in
      if let self { return receive(action, from: node, at: location) }
      // Releasing the store cancels its effects immediately: effects that are still running then are no misuse.
      guard let location, node.hasEnded else { return }
      location.report(
        """
        An effect sent an action to the store of '\(feature)', which has been released:

            \(Difference.dump(action))

        Keep the store as long as its effects are needed, or let the code that sends end with its task.
        """
      )
    }
  }

  private func receive(_ action: Action, from node: EffectNode, at location: CallSite?) {
    // An operation of `withTaskCancellation` may be cancelled on its own.
    let inner = EffectContext.current?.node
    let origin = inner.flatMap { $0.isPart(of: node) ? $0 : nil } ?? node
    if origin.tryBegin() { return deliver(.action(action, from: origin, isSentByEffect: true)) }
    guard let location, !origin.isCancelled else { return }
    let message = """
      An action was sent to the store of '\(name)' by an effect that had ended:

          \(Difference.dump(action))

      Let the closure of the effect wait for the code that sends, or use an effect that runs until it is cancelled.
      """
    if let monitor { monitor.report(message, at: location) } else { location.report(message) }
  }
}

extension Effect {
  /// Whether it is done as soon as it has begun.
  fileprivate var isImmediate: Bool {
    switch box?.operation {
    case .send, .cancel, .farewell, nil: true
    default: false
    }
  }
}
