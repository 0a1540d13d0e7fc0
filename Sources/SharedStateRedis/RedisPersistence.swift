import Foundation
import SharedState
import Synchronization

/// Keeps the value of one reference in Redis: joins it to its replica, encodes and decodes.
final class RedisPersistence<Value: Codable & Sendable>: RemotePersistence, ReplicaAttachment {
  private struct State {
    weak var reference: ValueReference<Value>?
    /// The replica, or why there is none.
    var membership: Result<LinkState.ReplicaID, RedisSharedStateError> = .failure(.stopped)
  }

  private let key: RedisSharedKey<Value>
  private let coder: DocumentCoder<Value>
  private let initialValue: Value
  private let state = Mutex(State())
  /// The number of the newest state that was shown; written with the reference's lock held.
  private let shownSequence = Atomic<UInt64>(0)
  /// The numbers of the newest status that is shown; written with the reference's lock held.
  private let loadingNumber = Atomic<UInt64>(0)
  private let loadErrorNumber = Atomic<UInt64>(0)
  private let saveErrorNumber = Atomic<UInt64>(0)

  init(key: RedisSharedKey<Value>, initialValue: Value) {
    self.key = key
    coder = key.coder
    self.initialValue = initialValue
  }

  deinit {
    if case .success(let id) = state.withLock({ $0.membership }) { key.store.link.leave(id) }
  }

  /// Joins the replicas of the store; loading goes on in the background.
  func start(_ reference: ValueReference<Value>) {
    state.withLock { $0.reference = reference }
    do throws(RedisSharedStateError) {
      let names = try key.names.get()
      let id = try key.store.link.join(
        names,
        name: key.name,
        valueType: String(reflecting: Value.self),
        policy: key.policy,
        attachment: self
      )
      state.withLock { $0.membership = .success(id) }
    } catch {
      state.withLock { $0.membership = .failure(error) }
      reference.updateStatus { $0.loadError = error }
    }
  }

  // MARK: ReferencePersistence

  func referenceDidMutate() {
    let (reference, membership) = state.withLock { ($0.reference, $0.membership) }
    guard let reference else { return }
    switch membership {
    case .success(let id):
      guard let watch = reference.mutationWatch else { return }
      key.store.link.changed(id, keeping: reference)
      // Not before the link knows: who changes the value now and flushes counts on it.
      reference.endMutationWatch(watch)
    case .failure(let error):
      reference.updateStatus { $0.saveError = error }
    }
  }

  func load() async throws {
    let id = try state.withLock { $0.membership }.get()
    try await wait { completion in key.store.link.load(id, completion: completion) }
  }

  func save() async throws {
    let (reference, membership) = state.withLock { ($0.reference, $0.membership) }
    let id = try membership.get()
    guard let reference else { return }
    let stamp = reference.versions.local
    try await wait { completion in
      key.store.link.save(id, stamp: stamp, keeping: reference, completion: completion)
    }
  }

  func reset() async throws {
    let (reference, membership) = state.withLock { ($0.reference, $0.membership) }
    let id = try membership.get()
    guard let reference else { return }
    let stamp = reference.versions.local
    try await wait { completion in key.store.link.reset(id, stamp: stamp, keeping: reference, completion: completion) }
  }

  func updateAtomically(_ update: @escaping @Sendable (UnsafeMutableRawPointer) -> Bool) async throws {
    let id = try state.withLock { $0.membership }.get()
    let (link, name) = (key.store.link, key.name)
    try await wait { completion in
      link.update(id, with: update, completion: completion)
    } onCancellation: { waiter in
      if link.cancelUpdate(waiter) { throw RedisSharedStateError.outcomeUnknown(name: name) }
    }
  }

  private func wait(_ begin: (@escaping Link.WaiterCallback) -> LinkState.WaiterID?) async throws {
    try await wait(begin) { key.store.link.forget([$0]) }
  }

  private func wait(
    _ begin: (@escaping Link.WaiterCallback) -> LinkState.WaiterID?,
    onCancellation: (LinkState.WaiterID) throws -> Void
  ) async throws {
    let waiter = Mutex<LinkState.WaiterID?>(nil)
    do {
      let _: StoredValue? = try await withCancellableContinuation { continuation in
        let id = begin { continuation.resume(with: $0.mapError { $0 }) }
        waiter.withLock { $0 = id }
      }
    } catch let error as CancellationError {
      if let id = waiter.withLock({ $0 }) { try onCancellation(id) }
      throw error
    }
  }

  // MARK: ReplicaAttachment

  func encode(_ encoding: Replica.Encoding, updates: [LinkState.WaiterID: AtomicUpdate]) -> Replica.Encoded {
    guard encoding.updates.isEmpty else {
      let result = coder.documents(default: initialValue, encoding) { waiter, value in
        // Who has stopped waiting has no update any more.
        withUnsafeMutablePointer(to: &value) { updates[waiter]?(UnsafeMutableRawPointer($0)) ?? false }
      }
      return Replica.Encoded(stamp: 0, result: result)
    }
    guard let reference = state.withLock({ $0.reference }) else {
      return Replica.Encoded(stamp: 0, result: .failure(.stopped))
    }
    let (value, stamp) = reference.snapshot()
    let result = coder.documents(of: value, default: initialValue, encoding).map { Optional($0) }
    return Replica.Encoded(stamp: stamp, result: result)
  }

  func show(_ delivery: Replica.Delivery) -> Replica.DeliveryOutcome {
    guard let reference = state.withLock({ $0.reference }) else { return .outdated }
    let value: Value
    switch delivery.state.content {
    case .absent:
      value = initialValue
    case .otherType(let type):
      return .unreadable(.wrongRedisType(name: key.name, type: type))
    case .document(let document):
      switch key.decode(document) {
      case .success(let decoded): value = decoded
      case .failure(let error): return .unreadable(error)
      }
    }
    var outcome = Replica.DeliveryOutcome.shown
    _ = reference.replace(with: value, isInitial: delivery.sequence == 1) { versions in
      if delivery.sequence <= shownSequence.load(ordering: .relaxed) {
        outcome = .outdated
      } else if versions.local != delivery.stamp {
        outcome = .superseded
      } else {
        shownSequence.store(delivery.sequence, ordering: .relaxed)
      }
      return outcome == .shown
    }
    return outcome
  }

  func setLoading(_ isLoading: Bool, number: UInt64) {
    updateStatus(loadingNumber, number) { $0.isLoading = isLoading }
  }

  func setLoadError(_ error: RedisSharedStateError?, number: UInt64) {
    updateStatus(loadErrorNumber, number) { $0.loadError = error }
  }

  func setSaveError(_ error: RedisSharedStateError?, number: UInt64) {
    updateStatus(saveErrorNumber, number) { $0.saveError = error }
  }

  private func updateStatus(
    _ newest: borrowing Atomic<UInt64>,
    _ number: UInt64,
    _ update: (inout ReferenceStatus) -> Void
  ) {
    state.withLock { $0.reference }?.updateStatus { status in
      guard number > newest.load(ordering: .relaxed) else { return }
      newest.store(number, ordering: .relaxed)
      update(&status)
    }
  }
}
