import SharedStateDependencies
import Synchronization

/// Work that an action has caused and that has not ended: an effect, or several that belong together.
///
/// The nodes form a tree. Cancelling a node cancels all nodes below it, and a node has ended when they have. The root
/// stands for a store. Each child of the root stands for an action that was sent to the store, with all work that the
/// action causes.
@usableFromInline
package final class EffectNode: Sendable {
  private struct State {
    /// How many parts have begun and not ended.
    var count = 1
    var children: [EffectNode] = []
    var stop: (@Sendable () -> Void)?
    var task: Task<Void, Never>?
    /// Called once, when the last part has ended.
    var whenEnded: [@Sendable () -> Void] = []
    /// Whether they are being called. No work begins here any more then, because the node can no longer be found by its
    /// ids.
    var isEnding = false

    mutating func remove(_ child: EffectNode) {
      let last = children.removeLast()
      let position = child.position.load(ordering: .relaxed)
      if last !== child { children[position] = last }
      last.position.store(position, ordering: .relaxed)
    }
  }

  private let parent: EffectNode?
  private let mark = Atomic<Bool>(false)
  /// The index of this node among its parent's children. Written with the lock of the parent held.
  private let position = Atomic<Int>(0)
  private let state = Mutex(State())

  /// A root, such as the node of a store.
  init() {
    parent = nil
  }

  /// A part of another node.
  init(in parent: EffectNode) {
    self.parent = parent
    parent.adopt(self)
  }

  /// The node of the action that caused this one.
  var run: EffectNode {
    var node = self
    while let parent = node.parent, parent.parent != nil { node = parent }
    return node
  }

  /// Whether this node or one of its ancestors is cancelled.
  package var isCancelled: Bool {
    var node: EffectNode? = self
    while let next = node {
      if next.mark.load(ordering: .relaxed) { return true }
      node = next.parent
    }
    return false
  }

  /// Whether all its parts have ended.
  package var hasEnded: Bool { state.withLock { $0.count == 0 } }

  /// Whether all work that has not ended is cancelled.
  package var isOnlyCancelled: Bool {
    if mark.load(ordering: .relaxed) { return true }
    let (count, children) = state.withLock { ($0.count, $0.children) }
    return count == children.count && children.allSatisfy(\.isOnlyCancelled)
  }

  /// Whether it has no running parts.
  var isAlone: Bool { state.withLock { $0.count <= 1 } }

  private func adopt(_ child: EffectNode) {
    state.withLock { state in
      state.count += 1
      child.position.store(state.children.count, ordering: .relaxed)
      state.children.append(child)
      // The thread that cancels the parent either has checked its children by now, or takes the lock later.
      if mark.load(ordering: .relaxed) { child.mark.store(true, ordering: .relaxed) }
    }
  }

  /// Whether this is another node or is below it.
  func isPart(of other: EffectNode) -> Bool {
    var node: EffectNode? = self
    while let next = node {
      if next === other { return true }
      node = next.parent
    }
    return false
  }

  /// Counts work that has no node of its own, unless all work has ended.
  func tryBegin() -> Bool {
    state.withLock { state in
      guard state.count > 0, !state.isEnding else { return false }
      state.count += 1
      return true
    }
  }

  /// Counts work that has no node of its own.
  func begin() {
    state.withLock { $0.count += 1 }
  }

  /// Counts the end of a part, or of the beginning of the node itself.
  func end() {
    end(nil)
  }

  private func end(_ child: EffectNode?) {
    let closures: [@Sendable () -> Void]? = state.withLock { state in
      if let child { state.remove(child) }
      guard state.count == 1 else {
        state.count -= 1
        return nil
      }
      // The closures are called before the end counts, because they may begin work. Taking them and setting the flag is
      // one step, so that no closure that is added meanwhile is missed.
      guard state.whenEnded.isEmpty else {
        defer { state.whenEnded = [] }
        state.isEnding = true
        return state.whenEnded
      }
      state.count = 0
      state.stop = nil
      state.task = nil
      return []
    }
    guard let closures else { return }
    guard closures.isEmpty else {
      for closure in closures { closure() }
      return end(nil)
    }
    parent?.end(self)
  }

  /// Calls a closure when all work has ended; immediately if it already has.
  func whenEnded(_ closure: @escaping @Sendable () -> Void) {
    let hasEnded = state.withLock { state in
      guard state.count > 0 else { return true }
      state.whenEnded.append(closure)
      return false
    }
    if hasEnded { closure() }
  }

  /// Sets the closure that stops the node. It is called when the node is cancelled, immediately if it already is.
  func whenCancelled(_ stop: @escaping @Sendable () -> Void) {
    let isCancelled = state.withLock { state in
      guard state.count > 0 else { return false }
      state.stop = stop
      return mark.load(ordering: .relaxed)
    }
    if isCancelled { stop() }
  }

  /// Sets the task that does the work.
  func attach(_ task: Task<Void, Never>) {
    let isCancelled = state.withLock { state in
      guard state.count > 0 else { return false }
      state.task = task
      return mark.load(ordering: .relaxed)
    }
    if isCancelled { task.cancel() }
  }

  /// A running task of this node or its last child; `nil` when there is none.
  private var task: Task<Void, Never>? {
    let (task, child) = state.withLock { ($0.task, $0.children.last) }
    return task ?? child?.task
  }

  /// Marks all work as cancelled.
  ///
  /// - Returns: Closures to call afterwards, without a lock.
  func markCancelled() -> [@Sendable () -> Void] {
    mark.store(true, ordering: .relaxed)
    let (children, stop, task) = state.withLock { ($0.children, $0.stop, $0.task) }
    var stops = stop.map { [$0] } ?? []
    if let task { stops.append { task.cancel() } }
    for child in children { stops += child.markCancelled() }
    return stops
  }

  /// Cancels all work.
  package func cancel() {
    for stop in markCancelled() { stop() }
  }

  /// Waits until all work has ended. When the waiting task is cancelled, the node is cancelled, too.
  package func finish() async {
    await withTaskCancellationHandler {
      // Waiting for a task takes a fraction of the time of a continuation.
      var last: Task<Void, Never>?
      while let task, task != last {
        await task.value
        last = task
      }
      if hasEnded { return }
      await withCheckedContinuation { continuation in
        whenEnded { continuation.resume() }
      }
    } onCancel: {
      cancel()
    }
  }
}

/// A source that calls back, such as a publisher.
struct EffectSource<Action: Sendable>: Sendable {
  /// The dependencies in force where the effect was made; `nil` when they are the defaults of the process.
  let dependencies: DependencyScope?
  let subscribe: @Sendable (_ send: Send<Action>, _ end: @escaping @Sendable () -> Void) -> @Sendable () -> Void

  func map<Other: Sendable>(_ transform: @escaping @Sendable (Action) -> Other) -> EffectSource<Other> {
    EffectSource<Other>(dependencies: dependencies) { [subscribe] send, end in
      subscribe(send.pullback(transform), end)
    }
  }

  /// Subscribes, with the dependencies in force.
  func start(_ send: Send<Action>, _ end: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
    guard let dependencies = DependencyScope.toApply(dependencies) else { return subscribe(send, end) }
    return dependencies.inForce { subscribe(send, end) }
  }
}

extension Effect {
  /// Sends whenever an external source calls back, until the source ends or the effect is cancelled.
  ///
  /// - Parameter subscribe: Takes the function that sends, and one that ends the effect. Returns a closure that ends
  ///   the subscription. Called with no lock held.
  package static func subscription(
    _ subscribe:
      @escaping @Sendable (
        _ send: Send<Action>,
        _ end: @escaping @Sendable () -> Void
      ) -> @Sendable () -> Void
  ) -> Self {
    Self(.subscribe(EffectSource(dependencies: .kept, subscribe: subscribe)))
  }
}

/// The place that an effect runs in.
final class EffectContext: Sendable {
  /// The context of the effect that the current task belongs to.
  @TaskLocal static var current: EffectContext?

  let registry: CancellationRegistry
  let node: EffectNode
  let path: EffectPath
  /// Sends the action that dismisses the innermost child; `nil` when no child may be removed.
  let dismiss: (@Sendable () -> Void)?
  /// Records the dismissal of a feature that a test runs alone; `nil` outside of tests.
  let dismissAlone: (@Sendable () -> Void)?

  init(
    registry: CancellationRegistry,
    node: EffectNode,
    path: EffectPath,
    dismiss: (@Sendable () -> Void)?,
    dismissAlone: (@Sendable () -> Void)?
  ) {
    self.registry = registry
    self.node = node
    self.path = path
    self.dismiss = dismiss
    self.dismissAlone = dismissAlone
  }
}
