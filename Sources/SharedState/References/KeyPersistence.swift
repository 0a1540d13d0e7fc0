import Synchronization

/// Keeps the value of a reference by way of a key: loads it, watches it, and saves each mutation in order.
final class KeyPersistence<Key: SharedReaderKey>: ReferencePersistence {
  private struct State {
    weak var reference: ValueReference<Key.Value>?
    var subscription: SharedSubscription?
    var saving = SaveOrder()
    /// The explicit saves that wait for the next call of the key.
    var explicitSaves: [SaveContinuation] = []
  }

  private let key: Key
  private let initialValue: Key.Value
  private let save: (@Sendable (Key.Value, SaveContext, SaveContinuation) -> Void)?
  private let delete: (@Sendable (Key.Value, SaveContinuation) -> Void)?
  private let state = Mutex(State())

  /// Numbers what comes from the key: a load when it is asked for, a change when it is heard of. Older never replaces
  /// newer.
  private let numbers = Atomic<UInt64>(0)
  /// The number of the newest value that was shown; written with the reference's lock held.
  private let shownValue = Atomic<UInt64>(0)
  /// The number of the newest outcome that was shown; written with the reference's lock held.
  private let shownOutcome = Atomic<UInt64>(0)
  /// The local mutation that has returned to the default; written with the reference's lock held.
  private let resetStamp = Atomic<UInt64>(.max)

  /// For a key that is only read.
  init(reading key: Key, initialValue: Key.Value) {
    self.key = key
    self.initialValue = initialValue
    save = nil
    delete = nil
  }

  /// For a key that is written as well.
  init(_ key: Key, initialValue: Key.Value) where Key: SharedKey {
    self.key = key
    self.initialValue = initialValue
    save = { value, context, continuation in key.save(value, context: context, continuation: continuation) }
    delete = { initialValue, continuation in key.reset(to: initialValue, continuation: continuation) }
  }

  /// Loads and watches the value on behalf of the reference. Returns once the key has been asked for both.
  func start(_ reference: ValueReference<Key.Value>) {
    state.withLock { $0.reference = reference }
    // Before the load, so that no change falls in between.
    let subscription = key.subscribe(
      context: .initialValue(initialValue),
      subscriber: SharedSubscriber(
        onResult: { [weak self] result in self?.receiveChange(result) },
        onLoading: { [weak self] isLoading in self?.reference?.updateStatus { $0.isLoading = isLoading } }
      )
    )
    state.withLock { $0.subscription = subscription }
    beginLoad(context: .initialValue(initialValue)) { _ in }
  }

  private var reference: ValueReference<Key.Value>? {
    state.withLock { $0.reference }
  }

  // MARK: Loading

  func load() async throws {
    try await withCancellableContinuation { continuation in
      self.beginLoad(context: .userInitiated) { continuation.resume(with: $0) }
    }
  }

  private func beginLoad(
    context: LoadContext<Key.Value>,
    completion: @escaping @Sendable (Result<Void, any Error>) -> Void
  ) {
    guard let reference else { return completion(.success(())) }
    let number = nextNumber()
    let stamp = reference.versions.local
    // The first load need not show the default, which is there already.
    let isInitial = context.initialValue != nil
    let valueOfNothing = isInitial ? nil : initialValue
    reference.updateStatus { $0.loadsUnderWay += 1 }
    let continuation = LoadContinuation<Key.Value>("The LoadContinuation of \(Key.self)") { [weak self] result in
      self?.finishLoad(result.map { $0 ?? valueOfNothing }, number: number, stamp: stamp, isInitial: isInitial)
      completion(result.map { _ in })
    }
    key.load(context: context, continuation: continuation)
  }

  /// A value that was asked for before a change never replaces it.
  private func finishLoad(
    _ result: Result<Key.Value?, any Error>,
    number: UInt64,
    stamp: UInt64,
    isInitial: Bool
  ) {
    guard let reference else { return }
    if case .success(let value?) = result {
      _ = reference.replace(with: value, isInitial: isInitial) { $0.local == stamp && advance(shownValue, to: number) }
    }
    reference.updateStatus { status in
      status.loadsUnderWay -= 1
      if advance(shownOutcome, to: number) { status.loadError = result.failure }
    }
  }

  private func receiveChange(_ result: Result<Key.Value?, any Error>) {
    guard let reference else { return }
    let number = nextNumber()
    if case .success(let value) = result {
      _ = reference.replace(with: value ?? initialValue) { _ in advance(shownValue, to: number) }
    }
    reference.updateStatus { status in
      if advance(shownOutcome, to: number) { status.loadError = result.failure }
    }
  }

  private func nextNumber() -> UInt64 {
    numbers.wrappingAdd(1, ordering: .relaxed).newValue
  }

  /// Whether the number is newer than the one shown, which it then becomes. Call with the reference's lock held.
  private func advance(_ shown: borrowing Atomic<UInt64>, to number: UInt64) -> Bool {
    guard number > shown.load(ordering: .relaxed) else { return false }
    shown.store(number, ordering: .relaxed)
    return true
  }

  // MARK: Saving

  func referenceDidMutate() {
    guard save != nil, let reference else { return }
    if state.withLock({ $0.saving.request() }) { drainSaves(of: reference) }
  }

  func reset() async throws {
    guard save != nil, let reference else { return }
    reference.mutate(to: initialValue) { resetStamp.store($0, ordering: .relaxed) }
    try await save()
  }

  func save() async throws {
    guard save != nil, let reference else { return }
    try await withCancellableContinuation { continuation in
      let isFirst = self.state.withLock { state in
        state.explicitSaves.append(SaveContinuation("save()") { continuation.resume(with: $0) })
        return state.saving.request()
      }
      if isFirst { self.drainSaves(of: reference) }
    }
  }

  /// Hands the newest value to the key until nobody has asked for more: one thread at a time, so that saves reach the
  /// key in the order of the mutations. The reference is held meanwhile, so that a change is saved also when whoever
  /// made it has let go of the last share.
  private func drainSaves(of reference: ValueReference<Key.Value>) {
    guard let save, let delete else { return }
    repeat {
      let (number, explicit) = state.withLock { state in
        defer { state.explicitSaves = [] }
        return (state.saving.begin(), state.explicitSaves)
      }
      let (value, stamp) = reference.valueAndStamp
      let continuation = SaveContinuation("The SaveContinuation of \(Key.self)") { [weak self] result in
        self?.finishSave(number, result)
        for continuation in explicit { continuation.resume(with: result) }
      }
      // Whoever has changed the value after a reset wants it to be kept.
      if stamp == resetStamp.load(ordering: .relaxed) {
        delete(initialValue, continuation)
      } else {
        save(value, explicit.isEmpty ? .didSet : .userInitiated, continuation)
      }
    } while state.withLock { $0.saving.finishRound() }
  }

  private func finishSave(_ number: UInt64, _ result: Result<Void, any Error>) {
    // The outcome of an older save says nothing about the newest value.
    let (isNewest, reference) = state.withLock { ($0.saving.isNewestOutcome(number), $0.reference) }
    guard isNewest else { return }
    reference?.updateStatus { $0.saveError = result.failure }
  }
}

extension Result {
  fileprivate var failure: Failure? {
    guard case .failure(let error) = self else { return nil }
    return error
  }
}
