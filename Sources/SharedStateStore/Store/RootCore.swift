import IssueReporting
public import SharedStateDependencies
#if !THREAD_SANITIZER
  public import Synchronization
#else
  public import struct Synchronization.Atomic
  public import struct Synchronization.AtomicLazyReference
#endif

/// A state, and the actions on their way to it.
///
/// One thread at a time reduces. A thread that is inside a reducer never waits for another store, for that one may be
/// waiting for it in turn, and runs no reducer of another store under the lock of its own: it leaves its action in the
/// mailbox. The thread itself reduces it when it has left its reducer, unless somebody else was there before.
@usableFromInline
package final class RootCore<State: Sendable, Action: Sendable>: Core<State, Action>, MailRecipient,
  @unchecked Sendable
{
  // `@unchecked Sendable` and the unchecked exclusivity are right because the variables are only touched with `lock`
  // held, which the thread in `owner` has.

  @usableFromInline
  let lock = Mutex<Void>(())
  /// The thread that is reducing; zero when none is.
  @usableFromInline
  let owner = Atomic<UInt>(0)
  /// How many letters are in the mailbox.
  @usableFromInline
  let mailCount = Atomic<Int>(0)
  private let side = Mutex(Side())
  /// Made for the first effect.
  private let madeEffects = AtomicLazyReference<CoreEffects>()

  @usableFromInline
  let reduction: Reduction<State, Action>
  @usableFromInline
  @exclusivity(unchecked)
  var storage: State
  /// What this thread has sent while it was reducing. The first `queuePosition` of them are done.
  @usableFromInline
  @exclusivity(unchecked)
  var queue: [Letter<Action>] = []
  @exclusivity(unchecked)
  private var queuePosition = 0
  /// Whether anybody is to be told of actions or states.
  @usableFromInline
  @exclusivity(unchecked)
  var isWatched: Bool

  /// Knows which children have effects; `nil` before any had.
  @usableFromInline
  @exclusivity(unchecked)
  var registry: CancellationRegistry?
  private let feature: any Any.Type
  /// Those of the reducer; `nil` when they are the defaults of the process.
  @usableFromInline
  @exclusivity(unchecked)
  var dependencies: DependencyValues?
  let monitor: (any CoreMonitor<State, Action>)?

  /// What is guarded by a lock of its own, which nobody holds for longer than a moment.
  private struct Side {
    var mailbox: [Letter<Action>] = []
    var observers: [StateObserver<State>] = []
    /// How many of the last observers have not been told of a state yet.
    var newObserverCount = 0
    /// Made for the first reader.
    var readers: StateReaders<State>?

    mutating func add(_ observer: StateObserver<State>) {
      observers.append(observer)
      newObserverCount += 1
    }
  }

  package init(
    initialState: State,
    reduction: Reduction<State, Action>,
    feature: any Any.Type,
    dependencies: DependencyValues? = nil,
    monitor: (any CoreMonitor<State, Action>)? = nil
  ) {
    storage = initialState
    self.reduction = reduction
    self.feature = feature
    self.dependencies = dependencies
    self.monitor = monitor
    isWatched = monitor != nil
    super.init()
  }

  /// A core with the dependencies in force.
  @usableFromInline
  convenience init(_ initialState: State, _ reduction: Reduction<State, Action>, feature: any Any.Type) {
    self.init(initialState: initialState, reduction: reduction, feature: feature, dependencies: .kept)
  }

  /// Replaces the dependencies, for the actions from now on.
  package func setDependencies(_ dependencies: DependencyValues) {
    lock._unsafeLock()
    defer { lock._unsafeUnlock() }
    self.dependencies = dependencies
  }

  /// Whether no effect is running.
  package var isIdle: Bool { madeEffects.load()?.root.isAlone ?? true }

  deinit {
    madeEffects.load()?.root.cancel()
  }

  package override var name: String { "\(feature)" }

  // MARK: The lock

  /// Takes the lock, unless this thread is inside a reducer.
  @inlinable
  func begin(on thread: ThreadRecord) -> Bool {
    guard thread.contents.pointee.depth == 0 else { return false }
    lock._unsafeLock()
    own(on: thread)
    return true
  }

  @inlinable
  func own(on thread: ThreadRecord) {
    owner.store(thread.number, ordering: .relaxed)
    thread.contents.pointee.depth += 1
  }

  /// Gives the lock back, without a look into the mailbox.
  @inlinable
  func disown(on thread: ThreadRecord) {
    thread.contents.pointee.depth -= 1
    owner.store(0, ordering: .relaxed)
    lock._unsafeUnlock()
    if thread.contents.pointee.hasChanges { ObservationDelivery.deliver(on: thread) }
  }

  /// Whether somebody has left a letter that nobody else sees: they look for the lock after they have counted it, and this
  /// one counts after the lock is free.
  @inlinable
  var hasMail: Bool { mailCount.load(ordering: .sequentiallyConsistent) > 0 }

  // MARK: The state

  /// A copy of the state.
  @inlinable
  package override func copyState() -> State {
    let thread = ThreadRecord.current
    if owner.load(ordering: .relaxed) == thread.number { trapInsideReducer() }
    if thread.contents.pointee.depth == 0 { lock._unsafeLock() } else { lockInsideOtherReducer() }
    defer { lock._unsafeUnlock() }
    return storage
  }

  @usableFromInline
  @inline(never)
  func trapInsideReducer() -> Never {
    fatalError(
      """
      The state of the store of '\(name)' was read inside its own reducer. Use the state that the reducer is given, or \
      read it in an effect.
      """
    )
  }

  /// Waits for the lock inside the reducer of another store. Two that wait for each other would do so for ever.
  @usableFromInline
  @inline(never)
  func lockInsideOtherReducer() {
    let deadline = ContinuousClock.now + .seconds(10)
    while !lock._unsafeTryLock() {
      precondition(
        ContinuousClock.now < deadline,
        """
        The state of the store of '\(name)' was read inside the reducer of another store, whose state this one's reducer \
        reads in turn. Read it in an effect, or hand it over in an action.
        """
      )
      ThreadRecord.letOthersRun()
    }
  }

  // MARK: Sending

  /// Reduces an action before it returns, unless this thread is inside a reducer.
  @inlinable
  package override func send(_ action: Action) -> StoreTask {
    let thread = ThreadRecord.current
    guard begin(on: thread) else { return leave(action) }
    if isWatched { return reduceFirst(action, on: thread) }
    var effect = Effect<Action>.none
    if let dependencies {
      DependencyValues.withInForce(dependencies) { effect = reduction(&storage, action, registry: registry) }
    } else {
      effect = reduction(&storage, action, registry: registry)
    }
    guard effect.isNone, queue.isEmpty else { return finish(effect, on: thread) }
    disown(on: thread)
    if hasMail { deliverMail() }
    if thread.contents.pointee.hasMail { thread.deliverMail() }
    return StoreTask(node: nil)
  }

  /// Leaves an action for whoever is reducing: this thread itself, or another one.
  @usableFromInline
  @inline(never)
  func leave(_ action: Action) -> StoreTask {
    let node = EffectNode(in: effects.root)
    leave(.action(action, from: node, isSentByEffect: false))
    return StoreTask(node: node)
  }

  private func leave(_ letter: Letter<Action>) {
    let thread = ThreadRecord.current
    if owner.load(ordering: .relaxed) == thread.number {
      queue.append(letter)
      return
    }
    side.withLock { $0.mailbox.append(letter) }
    mailCount.wrappingAdd(1, ordering: .sequentiallyConsistent)
    thread.remember(self)
  }

  /// Reduces or begins what an effect has led to; it is left to others inside a reducer.
  package func deliver(_ letter: Letter<Action>) {
    let thread = ThreadRecord.current
    guard begin(on: thread) else { return leave(letter) }
    var work = Work()
    open(letter, &work)
    drainQueue(&work)
    close(work, on: thread)
  }

  @usableFromInline
  @inline(never)
  func reduceFirst(_ action: Action, on thread: ThreadRecord) -> StoreTask {
    var work = Work()
    let effect = reduce(action, isSentByEffect: false, &work)
    return finish(effect, work, on: thread)
  }

  @usableFromInline
  @inline(never)
  func finish(_ effect: Effect<Action>, on thread: ThreadRecord) -> StoreTask {
    finish(effect, Work(), on: thread)
  }

  private func finish(_ effect: Effect<Action>, _ begun: Work, on thread: ThreadRecord) -> StoreTask {
    var work = begun
    var node: EffectNode?
    if !effect.isNone {
      let effects = effects
      let run = EffectNode(in: effects.root)
      collect(effect, EffectPlace(node: run, path: [], dismiss: nil), effects, &work)
      node = run
    }
    drainQueue(&work)
    // Before the effects run, so that it meets nobody there.
    node?.end()
    close(work, on: thread)
    return StoreTask(node: node)
  }

  /// Gives the lock back, and does what has to be done without it.
  private func close(_ work: Work, on thread: ThreadRecord) {
    disown(on: thread)
    for task in work.tasks { task() }
    if hasMail { deliverMail() }
    if thread.contents.pointee.hasMail { thread.deliverMail() }
  }

  /// Reduces what others have left, unless somebody has the lock: that one does it when it is given back.
  @usableFromInline
  @inline(never)
  func deliverMail() {
    let thread = ThreadRecord.current
    // What this thread does after a reducer, such as to begin effects, may lead here.
    guard thread.contents.pointee.depth == 0 else { return }
    while hasMail, lock._unsafeTryLock() {
      own(on: thread)
      let letters = side.withLock { side in
        defer { side.mailbox = [] }
        return side.mailbox
      }
      mailCount.wrappingSubtract(letters.count, ordering: .sequentiallyConsistent)
      var work = Work()
      for letter in letters {
        open(letter, &work)
        drainQueue(&work)
      }
      disown(on: thread)
      for task in work.tasks { task() }
    }
  }

  // MARK: With the lock held

  private func drainQueue(_ work: inout Work) {
    while queuePosition < queue.count {
      let letter = queue[queuePosition]
      queuePosition += 1
      if queuePosition == queue.count {
        queue.removeAll(keepingCapacity: queuePosition < 64)
        queuePosition = 0
      }
      open(letter, &work)
    }
  }

  private func open(_ letter: Letter<Action>, _ work: inout Work) {
    switch letter {
    case .action(let action, let origin, let isSentByEffect):
      // Looked at under the lock: a reducer that has returned a cancellation had it, too.
      if !origin.isCancelled {
        let effect = reduce(action, isSentByEffect: isSentByEffect, &work)
        if !effect.isNone {
          collect(effect, EffectPlace(node: origin.run, path: [], dismiss: nil), effects, &work)
        }
      }
      origin.end()
    case .effect(let effect, let place):
      if !place.node.isCancelled { collect(effect, place, effects, &work) }
      place.node.end()
    case .look(let isNews):
      tellObservers(isNews: isNews, &work)
    }
  }

  private func reduce(_ action: Action, isSentByEffect: Bool, _ work: inout Work) -> Effect<Action> {
    var effect = Effect<Action>.none
    if let dependencies {
      DependencyValues.withInForce(dependencies) {
        effect = reduceWatched(action, isSentByEffect: isSentByEffect)
      }
    } else {
      effect = reduceWatched(action, isSentByEffect: isSentByEffect)
    }
    if isWatched { tellObservers(&work) }
    return effect
  }

  private func reduceWatched(_ action: Action, isSentByEffect: Bool) -> Effect<Action> {
    guard let monitor else { return reduction(&storage, action, registry: registry) }
    return monitor.reduce(action, into: &storage, isSentByEffect: isSentByEffect) { [reduction, registry] in
      reduction(&$0, $1, registry: registry)
    }
  }

  // MARK: Observers

  private func tellObservers(_ work: inout Work) {
    for observer in side.withLock({ $0.observers }) {
      if let task = observer.note(storage, false) { work.tasks.append(task) }
    }
  }

  private func tellObservers(isNews: Bool, _ work: inout Work) {
    let (told, isEmpty) = side.withLock { side in
      defer { side.newObserverCount = 0 }
      return (isNews ? side.observers[...] : side.observers.suffix(side.newObserverCount), side.observers.isEmpty)
    }
    isWatched = monitor != nil || !isEmpty
    for observer in told {
      if let task = observer.note(storage, true) { work.tasks.append(task) }
    }
  }

  /// Tells of the present state and of each later one, until what is returned is released.
  package override func observe(_ observer: StateObserver<State>) -> AnyObject {
    side.withLock { $0.add(observer) }
    deliver(.look(isNews: false))
    return Cancellation { [weak self] in
      guard let self else { return }
      side.withLock { side in
        guard let index = side.observers.firstIndex(where: { $0 === observer }) else { return }
        if index >= side.observers.count - side.newObserverCount { side.newObserverCount -= 1 }
        side.observers.remove(at: index)
      }
      deliver(.look(isNews: false))
    }
  }

  /// Lets the observer who reads here hear when another state takes the place of the present one.
  @usableFromInline
  package override func noteReading() {
    let (readers, isFirst) = side.withLock { side -> (StateReaders<State>?, Bool) in
      if let readers = side.readers { return (readers, false) }
      guard let readers = StateReaders<State>() else { return (nil, false) }
      side.readers = readers
      side.add(readers.observer)
      return (readers, true)
    }
    readers?.add()
    if isFirst { deliver(.look(isNews: false)) }
  }

  /// Tells those who observe that a share in the state has changed.
  package override func touch() {
    deliver(.look(isNews: true))
  }

  /// What is needed for effects.
  var effects: CoreEffects {
    madeEffects.load() ?? madeEffects.storeIfNil(CoreEffects(name: name))
  }
}
