import SharedStateDependencies
import Synchronization

/// Something that an action has led to and that has not ended: an effect, or several that belong together.
///
/// The nodes form a tree. One that is cancelled takes what is below with it, and has ended when that has. Its root stands
/// for a store, each child of the root for an action that was sent to the store, with all that comes of it.
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
    /// Whether they are being called: nothing begins here any more, for nobody finds this one by its ids.
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
  /// Where the parent has it among its children. Written with the lock of the parent held.
  private let position = Atomic<Int>(0)
  private let state = Mutex(State())

  /// A node that stands for itself, such as that of a store.
  init() {
    parent = nil
  }

  /// A part of another node.
  init(in parent: EffectNode) {
    self.parent = parent
    parent.adopt(self)
  }

  /// The node of the action that everything comes from.
  var run: EffectNode {
    var node = self
    while let parent = node.parent, parent.parent != nil { node = parent }
    return node
  }

  /// Whether it is cancelled, or what it is a part of.
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

  /// Whether it has no parts that have not ended.
  var isAlone: Bool { state.withLock { $0.count <= 1 } }

  private func adopt(_ child: EffectNode) {
    state.withLock { state in
      state.count += 1
      child.position.store(state.children.count, ordering: .relaxed)
      state.children.append(child)
      // Whoever has cancelled this one has looked at its children, or comes for the lock later.
      if mark.load(ordering: .relaxed) { child.mark.store(true, ordering: .relaxed) }
    }
  }

  /// Whether it is a part of another one, or that one itself.
  func isPart(of other: EffectNode) -> Bool {
    var node: EffectNode? = self
    while let next = node {
      if next === other { return true }
      node = next.parent
    }
    return false
  }

  /// Notes that something begins that is no node of its own, unless everything has ended.
  func tryBegin() -> Bool {
    state.withLock { state in
      guard state.count > 0, !state.isEnding else { return false }
      state.count += 1
      return true
    }
  }

  /// Notes that something begins that is no node of its own.
  func begin() {
    state.withLock { $0.count += 1 }
  }

  /// Notes that a part has ended, or the beginning of the node itself.
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
      // They are called before the end counts, for they may begin something. In one step with it, so that none is missed
      // that comes meanwhile.
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

  /// Calls a closure when everything has ended; at once when it has.
  func whenEnded(_ closure: @escaping @Sendable () -> Void) {
    let hasEnded = state.withLock { state in
      guard state.count > 0 else { return true }
      state.whenEnded.append(closure)
      return false
    }
    if hasEnded { closure() }
  }

  /// Says how it is stopped when it is cancelled, which may have been already.
  func whenCancelled(_ stop: @escaping @Sendable () -> Void) {
    let isCancelled = state.withLock { state in
      guard state.count > 0 else { return false }
      state.stop = stop
      return mark.load(ordering: .relaxed)
    }
    if isCancelled { stop() }
  }

  /// Hands over the task that does the work.
  func attach(_ task: Task<Void, Never>) {
    let isCancelled = state.withLock { state in
      guard state.count > 0 else { return false }
      state.task = task
      return mark.load(ordering: .relaxed)
    }
    if isCancelled { task.cancel() }
  }

  /// A task that is at work; `nil` when there is none, or when something else is.
  private var task: Task<Void, Never>? {
    let (task, child) = state.withLock { ($0.task, $0.children.last) }
    return task ?? child?.task
  }

  /// Marks everything as cancelled.
  ///
  /// - Returns: What has to be called afterwards, without a lock.
  func markCancelled() -> [@Sendable () -> Void] {
    mark.store(true, ordering: .relaxed)
    let (children, stop, task) = state.withLock { ($0.children, $0.stop, $0.task) }
    var stops = stop.map { [$0] } ?? []
    if let task { stops.append { task.cancel() } }
    for child in children { stops += child.markCancelled() }
    return stops
  }

  /// Cancels everything.
  package func cancel() {
    for stop in markCancelled() { stop() }
  }

  /// Waits until everything has ended. When the task that waits is cancelled, so is this.
  package func finish() async {
    await withTaskCancellationHandler {
      // To wait for a task takes a fraction of what a continuation takes.
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

/// Something that calls back, such as a publisher.
struct EffectSource<Action: Sendable>: Sendable {
  /// Those in force where the effect was made; `nil` when they are the defaults of the process.
  let dependencies: DependencyValues?
  let subscribe: @Sendable (_ send: Send<Action>, _ end: @escaping @Sendable () -> Void) -> @Sendable () -> Void

  func map<Other: Sendable>(_ transform: @escaping @Sendable (Action) -> Other) -> EffectSource<Other> {
    EffectSource<Other>(dependencies: dependencies) { [subscribe] send, end in
      subscribe(send.pullback(transform), end)
    }
  }

  /// Subscribes, with the dependencies in force.
  func start(_ send: Send<Action>, _ end: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
    guard let dependencies else { return subscribe(send, end) }
    return DependencyValues.withInForce(dependencies) { subscribe(send, end) }
  }
}

extension Effect {
  /// Sends whenever something outside calls back, until that says it has ended or the effect is cancelled.
  ///
  /// - Parameter subscribe: Gets the function that sends, and one that says that nothing more comes; returns what ends
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
