import IssueReporting
public import SharedStateDependencies
public import Synchronization

/// A state, and a queue of its actions.
///
/// One thread at a time reduces. A thread that is inside a reducer never waits for another store, which may be waiting
/// for it in turn, and runs no reducer of another store while it holds the lock of its own. It leaves its action in the
/// mailbox. The thread reduces that action itself when it has left its reducer, unless another thread was faster.
@usableFromInline
package final class RootCore<State: Sendable, Action: Sendable>: Core<State, Action>, MailRecipient,
  @unchecked Sendable
{
  // `@unchecked Sendable` and the unchecked exclusivity are right because the variables are only accessed with `lock`
  // held, which the thread in `owner` holds.

  @usableFromInline
  let lock = Mutex<Void>(())
  /// The thread that is reducing; zero when none is.
  @usableFromInline
  let owner = Atomic<UInt>(0)
  /// The number of letters in the mailbox.
  @usableFromInline
  let mailCount = Atomic<Int>(0)
  private let side = Mutex(Side())
  /// Created for the first effect.
  private let madeEffects = Mutex<CoreEffects?>(nil)

  @usableFromInline
  let reduction: Reduction<State, Action>
  @usableFromInline
  @exclusivity(unchecked)
  var storage: State
  /// Letters that this thread has sent while it was reducing. The first `queuePosition` of them are done.
  @usableFromInline
  @exclusivity(unchecked)
  var queue: [Letter<Action>] = []
  @exclusivity(unchecked)
  private var queuePosition = 0
  /// Whether there are observers of actions or states.
  @usableFromInline
  @exclusivity(unchecked)
  var isObserved: Bool
  /// Whether an action was reduced of which observers were not notified yet.
  @exclusivity(unchecked)
  private var mustNotify = false

  /// The registry of children with effects; `nil` before any child had one.
  @usableFromInline
  @exclusivity(unchecked)
  var registry: CancellationRegistry?
  private let feature: any Any.Type
  /// The dependencies of the reducer; `nil` when they are the defaults of the process.
  @usableFromInline
  @exclusivity(unchecked)
  var dependencies: DependencyScope?
  let monitor: (any CoreMonitor<State, Action>)?

  /// State with a lock of its own, which is held only for a moment.
  private struct Side {
    var mailbox: [Letter<Action>] = []
    var observers: [StateObserver<State>] = []
    /// The number of observers at the end of the list that were not notified of a state yet.
    var newObserverCount = 0
    /// Created for the first reader.
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
    dependencies: DependencyScope? = nil,
    monitor: (any CoreMonitor<State, Action>)? = nil
  ) {
    storage = initialState
    self.reduction = reduction
    self.feature = feature
    self.dependencies = dependencies
    self.monitor = monitor
    isObserved = monitor != nil
    super.init()
  }

  /// A core with the dependencies in force.
  @usableFromInline
  convenience init(_ initialState: State, _ reduction: Reduction<State, Action>, feature: any Any.Type) {
    self.init(initialState: initialState, reduction: reduction, feature: feature, dependencies: .kept)
  }

  /// Replaces the dependencies, for all further actions.
  package func setDependencies(_ dependencies: DependencyValues) {
    lock._unsafeLock()
    defer { lock._unsafeUnlock() }
    self.dependencies = DependencyScope(dependencies)
  }

  /// Whether no effect is running.
  package var isIdle: Bool { madeEffects.withLock { $0 }?.root.isAlone ?? true }

  deinit {
    madeEffects.withLock { $0 }?.root.cancel()
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

  /// Releases the lock, without checking the mailbox.
  @inlinable
  func disown(on thread: ThreadRecord) {
    thread.contents.pointee.depth -= 1
    owner.store(0, ordering: .relaxed)
    lock._unsafeUnlock()
    if thread.contents.pointee.hasChanges { ObservationDelivery.deliver(on: thread) }
  }

  /// Whether the mailbox has a letter that no other thread will see. Senders try the lock after they have counted their
  /// letter, and this thread checks the count after it has released the lock.
  @inlinable
  var hasMail: Bool { mailCount.load(ordering: .sequentiallyConsistent) > 0 }

  // MARK: The state

  /// A copy of the state.
  @inlinable
  override func copyState() -> State {
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

  /// Waits for the lock inside the reducer of another store. Two stores that wait for each other would do so for ever.
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
    if isObserved { return reduceFirst(action, on: thread) }
    var effect = Effect<Action>.none
    if let dependencies {
      dependencies.inForce { effect = reduction(&storage, action, registry: registry) }
    } else if reduction.children == nil {
      // Calling the reduction would instantiate the metadata of its type where the code is not specialised.
      effect = reduction.run(&storage, action)
    } else {
      effect = reduction(&storage, action, registry: registry)
    }
    // `isEmpty` would look up the array's conformance where the code is not specialised.
    guard effect.isNone, queue.count == 0 else { return finish(effect, on: thread) }
    disown(on: thread)
    if hasMail { deliverMail() }
    if thread.contents.pointee.hasMail { thread.deliverMail() }
    return StoreTask(node: nil)
  }

  /// Leaves an action for the reducing thread: this thread itself, or another one.
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

  /// Reduces or begins a letter from an effect. Inside a reducer, the letter is left for later.
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
    finish(reduce(action, isSentByEffect: false), on: thread)
  }

  @usableFromInline
  @inline(never)
  func finish(_ effect: Effect<Action>, on thread: ThreadRecord) -> StoreTask {
    var work = Work()
    var node: EffectNode?
    if !effect.isNone {
      let effects = effects
      let run = EffectNode(in: effects.root)
      collect(effect, EffectPlace(node: run, path: [], dismiss: nil), effects, &work)
      node = run
    }
    drainQueue(&work)
    // This ends before the effects run, so that it meets none of them in the node.
    node?.end()
    close(work, on: thread)
    return StoreTask(node: node)
  }

  /// Releases the lock, and then performs the work.
  private func close(_ begun: Work, on thread: ThreadRecord) {
    var work = begun
    notifyObserversOnce(&work)
    disown(on: thread)
    for task in work.tasks { task() }
    if hasMail { deliverMail() }
    if thread.contents.pointee.hasMail { thread.deliverMail() }
  }

  /// Reduces letters of other threads, unless another thread holds the lock: that thread does so when it releases the
  /// lock.
  @usableFromInline
  @inline(never)
  func deliverMail() {
    let thread = ThreadRecord.current
    // Work after a reducer, such as beginning effects, may lead here.
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
      notifyObserversOnce(&work)
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
      // Checked under the lock, because a reducer that has returned a cancellation held it, too.
      if !origin.isCancelled {
        let effect = reduce(action, isSentByEffect: isSentByEffect)
        if !effect.isNone {
          collect(effect, EffectPlace(node: origin.run, path: [], dismiss: nil), effects, &work)
        }
      }
      origin.end()
    case .effect(let effect, let place):
      if !place.node.isCancelled { collect(effect, place, effects, &work) }
      place.node.end()
    case .notify(let isNews):
      notifyObservers(isNews: isNews, &work)
    }
  }

  private func reduce(_ action: Action, isSentByEffect: Bool) -> Effect<Action> {
    var effect = Effect<Action>.none
    // An effect may have other dependencies. Asking for those in force would make `send` of a caller much slower.
    if let dependencies = isSentByEffect ? DependencyScope.toApply(dependencies) : dependencies {
      dependencies.inForce {
        effect = reduceMonitored(action, isSentByEffect: isSentByEffect)
      }
    } else {
      effect = reduceMonitored(action, isSentByEffect: isSentByEffect)
    }
    if isObserved { mustNotify = true }
    return effect
  }

  private func reduceMonitored(_ action: Action, isSentByEffect: Bool) -> Effect<Action> {
    guard let monitor else { return reduction(&storage, action, registry: registry) }
    return monitor.reduce(action, into: &storage, isSentByEffect: isSentByEffect) { [reduction, registry] in
      reduction(&$0, $1, registry: registry)
    }
  }

  // MARK: Observers

  /// Notifies observers once of the state after an action and the actions that follow from it immediately.
  private func notifyObserversOnce(_ work: inout Work) {
    guard mustNotify else { return }
    mustNotify = false
    // They are notified before effects begin.
    work.tasks.insert(
      contentsOf: side.withLock { $0.observers }.compactMap { $0.note(storage, false) },
      at: 0
    )
  }

  private func notifyObservers(isNews: Bool, _ work: inout Work) {
    let (notified, isEmpty) = side.withLock { side in
      defer { side.newObserverCount = 0 }
      return (isNews ? side.observers[...] : side.observers.suffix(side.newObserverCount), side.observers.isEmpty)
    }
    isObserved = monitor != nil || !isEmpty
    for observer in notified {
      if let task = observer.note(storage, true) { work.tasks.append(task) }
    }
  }

  /// Calls an observer with the present state and each later one, until the returned object is released.
  package override func observe(_ observer: StateObserver<State>) -> AnyObject {
    side.withLock { $0.add(observer) }
    deliver(.notify(isNews: false))
    return Cancellation { [weak self] in
      guard let self else { return }
      side.withLock { side in
        guard let index = side.observers.firstIndex(where: { $0 === observer }) else { return }
        if index >= side.observers.count - side.newObserverCount { side.newObserverCount -= 1 }
        side.observers.remove(at: index)
      }
      deliver(.notify(isNews: false))
    }
  }

  /// Records that an observer reads here, to be notified when another state replaces the present one.
  @usableFromInline
  override func noteReading() {
    let (readers, isFirst) = side.withLock { side -> (StateReaders<State>?, Bool) in
      if let readers = side.readers { return (readers, false) }
      guard let readers = StateReaders<State>() else { return (nil, false) }
      side.readers = readers
      side.add(readers.observer)
      return (readers, true)
    }
    readers?.add()
    if isFirst { deliver(.notify(isNews: false)) }
  }

  /// Notifies observers that a share in the state has changed.
  package override func touch() {
    deliver(.notify(isNews: true))
  }

  /// The part of the core for effects.
  var effects: CoreEffects {
    madeEffects.withLock { made in
      if let made { return made }
      let effects = CoreEffects(name: name)
      made = effects
      return effects
    }
  }
}
