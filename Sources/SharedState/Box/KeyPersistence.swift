import Dispatch
import SharedStateDependencies
import Synchronization

/// Keeps the value of a box with a key: loads it, watches it, and saves each mutation in order.
final class KeyPersistence<Key: SharedReaderKey>: BoxPersistence {
  private struct State {
    weak var box: ValueBox<Key.Value>?
    var subscription: SharedSubscription?
    var saving = SaveOrder()
    /// The requests for the next call of the key.
    var saveRequests = SaveRequests()
    /// The newest call of the key.
    var save: (requests: SaveRequests, tasks: KeyTasks)?
    /// Whether the key is known to save in tasks, which may still run after it has returned.
    var savesInTasks = false
    /// The version of the value that could not be saved; `nil` when the newest outcome is a success.
    var unsaved: Versions?
    /// The time until the next attempt to save it.
    var retryPause = RetryPause.first
    var isRetryScheduled = false
    /// Work that has to wait until the key is no longer saving.
    var afterSaves: [@Sendable () -> Void] = []
    /// Whether one of those loads the value again, because a newer one may have been missed.
    var isReloadPending = false
  }

  /// How often a load asks the key at most, if it reports other values meanwhile.
  private static var attempts: Int { 3 }

  private let key: Key
  /// The default.
  private let initialValue: Key.Value
  /// Whether the box began with the stored value.
  private let isStored: Bool
  private let save: (@Sendable (Key.Value, SaveContext, SaveContinuation) -> Void)?
  private let delete: (@Sendable (Key.Value, SaveContinuation) -> Void)?
  private let state = Mutex(State())
  /// The dependencies of the code that made the box; the key is called with them.
  private let dependencies = withEscapedDependencies { $0 }
  /// The tasks of the key that run as long as the box lives.
  private let tasks = KeyTasks()

  /// Numbers the results of the key: a load when it is requested, a change when it arrives. An older one never replaces
  /// a newer one.
  private let numbers = Atomic<UInt64>(0)
  /// The number of the newest value that was shown; written with the box's lock held.
  private let shownValue = NewestNumber()
  /// The number of the newest outcome that was shown; written while the status is updated.
  private let shownOutcome = NewestNumber()
  /// The number of the newest local mutation that was handed to the key.
  private let savedStamp = Atomic<UInt64>(0)
  /// The number of the local mutation that has returned to the default; written with the box's lock held.
  private let resetStamp = Atomic<UInt64>(.max)

  /// For a key that can only be read.
  init(reading key: Key, initialValue: Key.Value, isStored: Bool) {
    self.key = key
    self.initialValue = initialValue
    self.isStored = isStored
    save = nil
    delete = nil
  }

  /// For a key that can be written.
  init(_ key: Key, initialValue: Key.Value, isStored: Bool) where Key: SharedKey {
    self.key = key
    self.initialValue = initialValue
    self.isStored = isStored
    save = { value, context, continuation in key.save(value, context: context, continuation: continuation) }
    delete = { initialValue, continuation in key.reset(to: initialValue, continuation: continuation) }
  }

  deinit {
    tasks.cancel()
  }

  /// Loads and watches the value for the box. Returns once the key has been asked for both.
  ///
  /// - Parameters:
  ///   - loads: Whether to load it; `false` when the caller is about to do so.
  ///   - isUsable: Called once other threads can use the box.
  func start(_ box: ValueBox<Key.Value>, loads: Bool, _ isUsable: () -> Void) {
    state.withLock { $0.box = box }
    isUsable()
    let subscriber = SharedSubscriber<Key.Value>(
      callback: { [weak self] result in self?.receiveChange(result) },
      onLoading: { [weak self] isLoading in self?.box?.updateStatus { $0.isLoading = isLoading } },
      onWatchError: { [weak self] error in
        self?.box?.updateStatus {
          $0.watchError = error
          if error != nil { $0.isLoading = false }
        }
      }
    )
    KeyTasks.$current.withValue(tasks) {
      // Before the load, so that no change is missed in between.
      let subscription = dependencies.yield {
        key.subscribe(context: .initialValue(initialValue), subscriber: subscriber)
      }
      state.withLock { $0.subscription = subscription }
      if loads { beginLoad(context: .initialValue(initialValue)) { _ in } }
    }
  }

  /// Asks the key for the stored value while another thread is still doing so for the first time. A key that answers
  /// immediately has answered when this returns. A key that loads in a task cannot, and so is not asked again.
  func catchUp() {
    guard !isStored, !(key is any AsyncSharedReaderKey) else { return }
    KeyTasks.$current.withValue(tasks) {
      beginLoad(context: .initialValue(initialValue)) { _ in }
    }
  }

  private var box: ValueBox<Key.Value>? {
    state.withLock { $0.box }
  }

  var keyDescription: String { String(describing: key) }

  var reportsUnreadErrors: Bool { dependencies.yield { DependencyValues.current.reportsUnreadErrors } }

  // MARK: Loading

  func load(within timeout: Duration?) async throws {
    try await limited(to: timeout) { [self] in
      try await withKeyContinuation { continuation in
        self.afterSaves {
          self.beginLoad(context: .userInitiated, attempts: Self.attempts) { continuation.resume(with: $0) }
        }
      }
    }
  }

  /// Adds a deadline, because a key has none of its own.
  private func limited(to timeout: Duration?, _ operation: @escaping @Sendable () async throws -> Void) async throws {
    guard let timeout else { return try await operation() }
    try await Deadline.run(within: timeout, operation: operation) { TimedOutError() }
  }

  /// - Parameter attempts: How often the key is asked at most, if it reports other values meanwhile.
  private func beginLoad(
    context: LoadContext<Key.Value>,
    attempts: Int = 1,
    completion: @escaping @Sendable (Result<Void, any Error>) -> Void
  ) {
    guard let box else { return completion(.success(())) }
    let number = nextNumber()
    let stamp = box.versions.local
    let isInitial = context.initialValue != nil
    // The first load need not show the default if the box holds it already.
    let valueOfNothing = isInitial && !isStored ? nil : initialValue
    box.updateStatus { $0.loadsUnderWay += 1 }
    let (tasks, savesBefore) = (KeyTasks.current, savesBefore)
    let continuation = LoadContinuation<Key.Value>("The LoadContinuation of \(Key.self)") { [weak self] result in
      let receipt = Receipt.take()
      let isDropped = result.failure is ContinuationLeakedError
      let end = { @Sendable in completion(isDropped ? .success(()) : result.map { _ in }) }
      guard let self, let box = self.box else { return end() }
      if isDropped || result.failure != nil && tasks?.areCancelled == true {
        // A cancelled load shows nothing, nor does one whose continuation the key has dropped.
        box.updateStatus { $0.loadsUnderWay -= 1 }
        return end()
      }
      let isCrossed = hasCrossedSaves(since: savesBefore)
      let loaded = result.map { isCrossed ? nil : $0 ?? valueOfNothing }
      // There is nothing to show.
      if !isCrossed, case .success(nil) = loaded { receipt?.sign(shown: 0) }
      // A value that was requested before a local change never replaces it.
      show(loaded, number, receipt, isInitial: isInitial) {
        $0.local == stamp
      } status: {
        $0.loadsUnderWay -= 1
      } completion: { [self] in
        guard attempts > 1, isReplaced(loaded, number, since: stamp) else { return end() }
        KeyTasks.$current.withValue(tasks) {
          afterSaves { [self] in beginLoad(context: context, attempts: attempts - 1, completion: completion) }
        }
      }
    }
    dependencies.yield { key.load(context: context, continuation: continuation) }
  }

  /// Whether another value is shown that the key has reported during the load, and no local change since. It may be
  /// older than the loaded one.
  private func isReplaced(
    _ loaded: Result<Key.Value?, any Error>,
    _ number: UInt64,
    since stamp: UInt64
  ) -> Bool {
    guard !shownValue.precedes(number + 1), case .success(let value?) = loaded else { return false }
    guard let comparison = box?.comparison(with: value) else { return false }
    return !comparison.isEqual && comparison.versions.local == stamp
  }

  private func receiveChange(_ result: Result<Key.Value?, any Error>) {
    let (number, receipt) = (nextNumber(), Receipt.take())
    if case .success = result, hasCrossedSaves(since: savesBefore) {
      // Whether it is older than a value that is saved in a task cannot be known, so it must not refuse that.
      if state.withLock(\.savesInTasks) { receipt?.sign(shown: 0) }
      return
    }
    // The key is about to store a local change that was not handed to it yet, which replaces this value.
    show(result.map { $0 ?? initialValue }, number, receipt) { [weak self] in
      guard let self else { return false }
      return $0.local <= savedStamp.load(ordering: .relaxed)
    } status: {
      // A key that reports a change is no longer loading.
      $0.isLoading = false
    }
  }

  /// Shows a result of the key, unless the value is shown already, and then updates the status.
  ///
  /// - Parameters:
  ///   - receipt: Signed once the value is shown.
  ///   - isWanted: Whether no local change is in the way; called with the box's lock held.
  ///   - status: Further changes of the status.
  ///   - completion: Called when everything is shown, which is later if a user closure holds the lock.
  private func show(
    _ result: Result<Key.Value?, any Error>,
    _ number: UInt64,
    _ receipt: Receipt?,
    isInitial: Bool = false,
    if isWanted: @escaping @Sendable (Versions) -> Bool,
    status: @escaping @Sendable (inout BoxStatus) -> Void = { _ in },
    completion: @escaping @Sendable () -> Void = {}
  ) {
    guard let box else { return completion() }
    let finish = { @Sendable [self] in
      box.updateStatus {
        status(&$0)
        if shownOutcome.advance(to: number) { $0.loadError = result.failure }
      }
      completion()
    }
    guard case .success(let value?) = result else { return finish() }
    show(value, number, receipt, in: box, isInitial: isInitial, if: isWanted, completion: finish)
  }

  private func show(
    _ value: Key.Value,
    _ number: UInt64,
    _ receipt: Receipt?,
    in box: ValueBox<Key.Value>,
    isInitial: Bool,
    if isWanted: @escaping @Sendable (Versions) -> Bool,
    completion: @escaping @Sendable () -> Void
  ) {
    // A load and the subscription may both bring one change, even at the same moment.
    let comparison = box.comparison(with: value)
    let end = { @Sendable [self] (outcome: Replacement) in
      guard outcome == .superseded else { return completion() }
      show(value, number, receipt, in: box, isInitial: isInitial, if: isWanted, completion: completion)
    }
    let outcome = box.replace(with: value, number: number, isInitial: isInitial) { [weak self] versions in
      guard let self, isWanted(versions), shownValue.precedes(number) else { return .outdated }
      // It was compared with a value that is no longer the present one.
      if let comparison, comparison.versions != versions { return .superseded }
      let isEqual = comparison?.isEqual == true
      guard receipt?.sign(shown: versions.remote + (isEqual ? 0 : 1)) ?? true else { return .outdated }
      shownValue.advance(to: number)
      if isEqual { return .outdated }
      // A value that came after the reset is not to be deleted.
      resetStamp.store(.max, ordering: .relaxed)
      return .done
    } whenUnlocked: {
      end($0)
    }
    if let outcome { end(outcome) }
  }

  private func nextNumber() -> UInt64 {
    numbers.wrappingAdd(1, ordering: .relaxed).newValue
  }

  // MARK: Loading and saving at the same time

  // A key that saves in tasks returns before the value is saved. Until then it is unknown whether a value that is
  // loaded or reported is older or newer than our own change, once both are stored. So it is not shown; the value is
  // loaded again afterwards.

  /// The number of saves so far; `nil` while one is under way.
  private var savesBefore: UInt64? {
    state.withLock { $0.saving.isDraining ? nil : $0.saving.begun }
  }

  private func hasCrossedSaves(since before: UInt64?) -> Bool {
    let hasCrossed = state.withLock { state in
      state.savesInTasks = state.savesInTasks || state.save?.tasks.areUsed == true
      // Before the first save has returned, it is unknown whether it continues in a task.
      let mayCross = state.savesInTasks || state.saving.isDraining && state.saving.begun == 1
      return mayCross && (before != state.saving.begun || state.saving.isDraining)
    }
    if hasCrossed { reloadAfterSaves() }
    return hasCrossed
  }

  private func reloadAfterSaves() {
    let isFirst = state.withLock { state in
      defer { state.isReloadPending = true }
      return !state.isReloadPending
    }
    guard isFirst else { return }
    KeyTasks.$current.withValue(tasks) {
      afterSaves { [weak self] in
        // A change that could not be saved stays, and replaces the stored value once it can be saved. With a key that
        // does not save in tasks, only a save that is tried again replaces it.
        let isUnsaved = self?.state.withLock { state in
          state.isReloadPending = false
          return state.unsaved != nil && (state.savesInTasks || state.isRetryScheduled)
        }
        if isUnsaved == false { self?.beginLoad(context: .userInitiated) { _ in } }
      }
    }
  }

  /// Runs the body once the key is no longer saving.
  private func afterSaves(_ body: @escaping @Sendable () -> Void) {
    let tasks = KeyTasks.current
    let isNow = state.withLock { state in
      guard state.saving.isDraining else { return true }
      state.afterSaves.append { KeyTasks.$current.withValue(tasks, operation: body) }
      return false
    }
    if isNow { body() }
  }

  // MARK: Saving

  func boxDidMutate() {
    guard save != nil, let box else { return }
    let isFirst = state.withLock { state in
      state.saveRequests.areOfMutation = true
      return state.saving.request()
    }
    if isFirst { drainSaves(of: box) }
  }

  func reset(within timeout: Duration?) async throws {
    guard save != nil, let box else { return }
    box.mutate(to: initialValue) { resetStamp.store($0, ordering: .relaxed) }
    try await save(replacingUnreadable: true, within: timeout)
  }

  func save(replacingUnreadable: Bool, within timeout: Duration?) async throws {
    try await limited(to: timeout) { [self] in try await save(replacingUnreadable: replacingUnreadable) }
  }

  private func save(replacingUnreadable: Bool) async throws {
    guard save != nil, let box else { return }
    try await withKeyContinuation { continuation in
      let isFirst = self.state.withLock { state in
        state.saveRequests.waiters.append(continuation)
        if replacingUnreadable { state.saveRequests.replacesUnreadable = true }
        return state.saving.request()
      }
      if isFirst { self.drainSaves(of: box) }
    } onCancel: {
      self.cancelUnwantedSave()
    }
  }

  /// Hands the newest value to the key until no more saves are requested: one thread or task at a time, so that saves
  /// reach the key in the order of the mutations. The box is held meanwhile, so that a change is saved even if the last
  /// share is released.
  private func drainSaves(of box: ValueBox<Key.Value>) {
    while let (round, snapshot) = beginRound(of: box) {
      guard finish(round, with: snapshot, of: box) else { return }
    }
  }

  /// One call of the key.
  private struct Round: Sendable {
    let number: UInt64
    let requests: SaveRequests
    let tasks: KeyTasks
  }

  /// - Returns: `nil` when a closure holds the lock: the thread that ends it continues.
  private func beginRound(
    of box: ValueBox<Key.Value>
  ) -> (Round, ValueBox<Key.Value>.Snapshot)? {
    let tasks = KeyTasks()
    let round = state.withLock { state in
      let requests = state.saveRequests
      state.saveRequests = SaveRequests()
      state.save = (requests, tasks)
      return Round(number: state.saving.begin(), requests: requests, tasks: tasks)
    }
    cancelUnwantedSave()
    let snapshot = box.snapshot(noticesMutations: false) { [self] snapshot in
      if finish(round, with: snapshot, of: box) { drainSaves(of: box) }
    }
    return snapshot.map { (round, $0) }
  }

  /// Hands a value to the key.
  ///
  /// - Returns: Whether the caller has to continue.
  private func finish(
    _ round: Round,
    with snapshot: ValueBox<Key.Value>.Snapshot,
    of box: ValueBox<Key.Value>
  ) -> Bool {
    guard let save, let delete else { return false }
    let (requests, tasks) = (round.requests, round.tasks)
    let stamp = snapshot.versions.local
    // Before a value from elsewhere can be shown again.
    let isReset = stamp == resetStamp.load(ordering: .relaxed)
    savedStamp.store(stamp, ordering: .relaxed)
    let continuation = SaveContinuation("The SaveContinuation of \(Key.self)") { [weak self, dependencies] result in
      let result = result.failure is ContinuationLeakedError ? .success(()) : result
      if let self {
        finishSave(round.number, of: snapshot.versions, result, tasks: tasks)
      } else if let error = result.failure, !tasks.areCancelled, !requests.waiters.contains(where: \.isWaiting) {
        dependencies.yield { LostChange.report(error, of: Key.self) }
      }
      for waiter in requests.waiters { waiter.resume(with: result) }
    }
    KeyTasks.$current.withValue(tasks) {
      Receipt.$shownBeforeSave.withValue(snapshot.versions.remote) {
        dependencies.yield {
          // A change after the reset is to be saved.
          if isReset {
            delete(initialValue, continuation)
          } else {
            save(snapshot.value, requests.context, continuation)
          }
        }
      }
    }
    if tasks.areUsed { state.withLock { $0.savesInTasks = true } }
    if tasks.whenEnded({ [self] in if finishRound() { drainSaves(of: box) } }) { return false }
    return finishRound()
  }

  /// Returns whether the drainer has to continue. If not, does the work that had to wait for the end of the saves.
  private func finishRound() -> Bool {
    let (goesOn, bodies): (Bool, [@Sendable () -> Void]) = state.withLock { state in
      guard !state.saving.finishRound() else { return (true, []) }
      defer { state.afterSaves = [] }
      state.save = nil
      return (false, state.afterSaves)
    }
    for body in bodies { body() }
    return goesOn
  }

  private func finishSave(
    _ number: UInt64,
    of versions: Versions,
    _ result: Result<Void, any Error>,
    tasks: KeyTasks
  ) {
    // A cancelled save shows nothing.
    if result.failure != nil, tasks.areCancelled { return }
    // The outcome of an older save says nothing about the newest value.
    let box: ValueBox<Key.Value>? = state.withLock { state in
      guard state.saving.isNewestOutcome(number) else { return nil }
      state.unsaved = result.failure == nil ? nil : versions
      return state.box
    }
    guard let box else { return }
    box.updateStatus { status in
      status.saveError = result.failure
      // Our own document is stored now, and can be read.
      if result.failure == nil { status.loadError = nil }
    }
    scheduleRetry(of: box, after: result.failure)
  }

  /// Saves the value again after a while, unless it has changed by then: a local change is saved in any case, and a
  /// change from elsewhere has replaced the value. The box is held meanwhile.
  private func scheduleRetry(of box: ValueBox<Key.Value>, after error: (any Error)?) {
    guard let error else { return state.withLock { $0.retryPause = RetryPause.first } }
    guard let key = key as? any RetryingKey, key.isWorthRetrying(error) else { return }
    let pause: Duration? = state.withLock { state in
      guard !state.isRetryScheduled else { return nil }
      state.isRetryScheduled = true
      defer { state.retryPause = min(state.retryPause * 2, RetryPause.longest) }
      return state.retryPause
    }
    guard let pause else { return }
    DispatchQueue.global().asyncAfter(deadline: .now() + pause / .seconds(1)) { [self] in
      let unsaved = state.withLock { state in
        state.isRetryScheduled = false
        return state.unsaved
      }
      if box.versions == unsaved { boxDidMutate() }
    }
  }

  private func cancelUnwantedSave() {
    let unwanted = state.withLock { state in
      state.save.flatMap { $0.requests.areWithdrawn ? $0.tasks : nil }
    }
    unwanted?.cancel()
  }
}

/// The pause before a save is tried again. It doubles with each failure.
private enum RetryPause {
  static let first = Duration.seconds(1)
  static let longest = Duration.seconds(30)
}

extension Result {
  fileprivate var failure: Failure? {
    guard case .failure(let error) = self else { return nil }
    return error
  }
}
