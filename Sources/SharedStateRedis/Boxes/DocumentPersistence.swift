package import Foundation
package import SharedState
import SharedStateDependencies
import Synchronization

extension RedisStore {
  /// Reads a document whatever the type of other shares of its name, and never writes: other services restore what the
  /// server has lost, and adopt edits.
  ///
  /// Each call makes a replica of its own.
  /// - Parameters:
  ///   - name: The name, as in ``RedisSharedKey``.
  ///   - initialValue: The value until the document is loaded.
  ///   - read: Makes a value of the document, on any thread; `nil`: the document was deleted. If it throws an error,
  ///     the reader keeps its value, and has that as its `loadError`.
  package func reader<Value: Sendable>(
    of name: String,
    initialValue: Value,
    read: @escaping @Sendable (Data?) throws(RedisSharedStateError) -> Value
  ) -> SharedReader<Value> {
    let persistence = DocumentPersistence(store: self, name: name, read: read)
    let box = ValueBox(initialValue, persistence: persistence)
    persistence.start(box)
    return SharedReader(box)
  }
}

/// Keeps one box the same as a document in Redis, which it only reads.
private final class DocumentPersistence<Value: Sendable>: BoxPersistence, ReplicaAttachment {
  private struct State {
    weak var box: ValueBox<Value>?
    /// The replica, or why there is none.
    var membership: Result<LinkState.ReplicaID, RedisSharedStateError> = .failure(.stopped)
  }

  /// The largest document that is read, in bytes: as much as a key reads by default.
  private static var maximumBytes: Int { 1 << 20 }

  private let store: RedisStore
  private let name: String
  private let read: @Sendable (Data?) throws(RedisSharedStateError) -> Value
  private let state = Mutex(State())
  private let shownState = NewestNumber()
  private let shownStatus = ShownStatus()

  init(
    store: RedisStore,
    name: String,
    read: @escaping @Sendable (Data?) throws(RedisSharedStateError) -> Value
  ) {
    (self.store, self.name, self.read) = (store, name, read)
  }

  deinit {
    if case .success(let id) = state.withLock({ $0.membership }) { store.link.leave(id) }
  }

  /// Joins the replicas of the store; loading continues in the background.
  func start(_ box: ValueBox<Value>) {
    state.withLock { $0.box = box }
    let policy = ReplicaPolicy(
      dataLoss: store.dataLoss,
      access: .readOnly,
      maximumBytes: Self.maximumBytes,
      inlineLimit: store.inlineLimit,
      writer: store.writer
    )
    do throws(RedisSharedStateError) {
      let names = try store.names(for: name).get()
      try store.link.join(names, name: name, valueType: nil, policy: policy, attachment: self) { id in
        state.withLock { $0.membership = .success(id) }
      }
    } catch {
      state.withLock { $0.membership = .failure(error) }
      box.updateStatus { $0.loadError = error }
    }
  }

  // MARK: BoxPersistence

  var keyDescription: String { ".redis(\(String(reflecting: name)))" }
  var userCode: UserCodeThreads { store.link.userCode }
  // Nothing is ever saved.
  var reportsUnreadErrors: Bool { false }

  func load(within timeout: Duration?) async throws {
    try await store.traced("load", of: name) {
      let id = try state.withLock { $0.membership }.get()
      try await store.link.wait { state, callback throws(RedisSharedStateError) in
        try state.load(id, within: timeout, now: .now, callback: callback)
      }
    }
  }

  func boxDidMutate() {}
  func save(replacingUnreadable: Bool, within timeout: Duration?) async throws {}
  func reset(within timeout: Duration?) async throws {}
  func errorIsUnread(_ message: String) {}

  func isBlocked(by code: BlockedCode, share: String, sharedAt place: String?) {
    store.link.isBlocked(by: code, of: name, sharedAt: place)
  }

  // MARK: ReplicaAttachment

  var declaredAt: String? { nil }
  var isPlain: Bool { false }
  var status: BoxStatus? { state.withLock { $0.box }?.status }

  func encode(
    _ encoding: Replica.Encoding,
    updates: [LinkState.WaiterID: AtomicUpdate],
    whenUnlocked: @escaping @Sendable () -> Void
  ) -> Replica.Encoded? {
    Replica.Encoded(stamp: 0, result: .failure(.stopped))
  }

  func show(
    _ toShow: Replica.StateToShow,
    whenUnlocked: @escaping @Sendable (Replica.ShowOutcome) -> Void
  ) -> Replica.ShowOutcome? {
    guard let box = state.withLock({ $0.box }) else { return .outdated }
    let value: Value
    do throws(RedisSharedStateError) {
      value = try read(try document(of: toShow.state.content))
    } catch {
      return .unreadable(error)
    }
    let outcome = box.replace(
      with: value,
      number: toShow.sequence,
      isInitial: toShow.isInitial,
      if: { [self] _ in shownState.advance(to: toShow.sequence) ? .done : .outdated },
      whenUnlocked: { whenUnlocked(Replica.ShowOutcome($0)) }
    )
    return outcome.map { Replica.ShowOutcome($0) }
  }

  private func document(of content: StoredValue.Content) throws(RedisSharedStateError) -> Data? {
    switch content {
    case .absent: nil
    case .otherType(let type): throw .wrongType(type, name: name)
    case .oversized(let bytes): throw .valueTooLarge(name: name, bytes: bytes, maximumBytes: Self.maximumBytes)
    case .document(let document): document
    }
  }

  func show(_ change: Replica.StatusChange, number: UInt64) {
    if let box = state.withLock({ $0.box }) { shownStatus.show(change, number: number, in: box) }
  }

  func changesWereReported() {}
}
