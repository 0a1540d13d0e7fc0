import Foundation
import SharedState
import SharedStateDependencies
import Synchronization

/// A value in Redis, and what its documents are.
protocol ReplicatedKey: Sendable {
  associatedtype Value: Sendable

  var name: String { get }
  var store: RedisStore { get }
  /// Whether the value is only read.
  var access: RedisAccess { get }
  /// The rules that the replica of the value follows.
  var policy: ReplicaPolicy { get }
  /// The type that all shares of the name must have; `nil`: any.
  var valueType: String? { get }
  /// Whether values are decoded and shown without code of the program.
  var isPlain: Bool { get }

  /// Makes the coder that encodes and decodes the documents.
  /// - Parameters:
  ///   - defaultValue: Supplies the members that the type requires and a document lacks.
  ///   - whenRead: Takes the paths of those members for each document that was read, and a closure that finds stored
  ///     members that the type does not know beside some of them.
  ///   - whenOfOtherShape: Notes that a document has none of the type's members, but others.
  func coder(
    completedBy defaultValue: Value?,
    whenRead: @escaping @Sendable (_ completed: [[String]], _ unknown: ([[String]]) -> [String]) -> Void,
    whenOfOtherShape: @escaping @Sendable () -> Void
  ) -> DocumentCoder<Value>

  /// What to show where nothing is stored.
  func value(ofAbsent initialValue: Value) throws(RedisSharedStateError) -> Value
}

extension ReplicatedKey {
  /// The expression that makes the key.
  var expression: String { ".redis(\(String(reflecting: name)))" }

  /// The policy of a key with the default options.
  var defaultPolicy: ReplicaPolicy {
    ReplicaPolicy(dataLoss: store.dataLoss, access: access, inlineLimit: store.inlineLimit, writer: store.writer)
  }
}

/// Keeps the value of one box in Redis: joins the box to its replica, encodes and decodes.
final class RedisPersistence<Key: ReplicatedKey>: ReplicatedPersistence, ReplicaAttachment {
  typealias Value = Key.Value

  private struct State {
    weak var box: ValueBox<Value>?
    /// The replica, or why there is none.
    var membership: Result<LinkState.ReplicaID, RedisSharedStateError> = .failure(.stopped)
    /// What the store's snapshot has, from which the box began, until the replica has it.
    var beginning: SnapshotState?
    /// The snapshot that the end of a closure has deferred to the next encoding.
    var snapshot: ValueBox<Value>.Snapshot?
  }

  /// The key of the first share, whose options hold for all.
  let key: Key
  private let coder: DocumentCoder<Value>
  private let initialValue: Value
  let reportsUnreadErrors = DependencyValues.current.reportsUnreadErrors
  private let state = Mutex(State())
  private let shownState = NewestNumber()
  private let shownStatus = ShownStatus()

  init(key: Key, initialValue: Value) {
    self.key = key
    let completions = ReportedCompletions()
    let (telemetry, name) = (key.store.telemetry, key.name)
    coder = key.coder(completedBy: initialValue) { paths, unknown in
      let (missing, wasRead) = completions.insert(paths)
      guard !missing.isEmpty else { return }
      let members = missing.map { $0.joined(separator: ".") }
      // Each of them was in all documents before this one.
      let others = wasRead ? unknown(missing) : []
      if others.isEmpty { telemetry.completed(members, of: name) } else { telemetry.renamed(members, others, of: name) }
    } whenOfOtherShape: {
      if completions.insertOtherShape() { telemetry.isOfOtherShape(name, type: "\(Value.self)") }
    }
    self.initialValue = initialValue
  }

  deinit {
    if case .success(let id) = state.withLock({ $0.membership }) { key.store.link.leave(id) }
  }

  /// The value that the box begins with: that of the snapshot, if there is one that can be decoded.
  func firstValue() -> Value {
    guard let beginning = key.store.link.snapshotFile?.state(of: Name(key.name)) else { return initialValue }
    do throws(RedisSharedStateError) {
      guard let reading = try coder.accept(beginning.state.content) else { return initialValue }
      var shown = beginning
      if let members = reading.unreadableMembers {
        shown.part = SnapshotState.Part(
          unreadableMembers: members,
          encoded: try coder.document(of: reading.value).get()
        )
      }
      state.withLock { [shown] in $0.beginning = shown }
      return reading.value
    } catch {
      key.store.telemetry.snapshotIsUnreadable(key.name, error)
      return initialValue
    }
  }

  /// Joins the replicas of the store; loading continues in the background.
  ///
  /// - Parameter isUsable: Called once other threads can use the box.
  func start(_ box: ValueBox<Value>, _ isUsable: () -> Void) {
    state.withLock { $0.box = box }
    do throws(RedisSharedStateError) {
      let names = try key.store.names(for: key.name).get()
      try key.store.link.join(
        names,
        name: key.name,
        valueType: key.valueType,
        policy: key.policy,
        snapshot: state.withLock { $0.beginning.take() },
        attachment: self
      ) { id in
        state.withLock { $0.membership = .success(id) }
        isUsable()
      }
    } catch {
      state.withLock { $0.membership = .failure(error) }
      box.updateStatus { $0.loadError = error }
    }
  }

  // MARK: BoxPersistence

  func boxDidMutate() {
    let (box, membership) = state.withLock { ($0.box, $0.membership) }
    guard let box else { return }
    if ForkedChild.isCurrent { return box.updateStatus { $0.saveError = RedisSharedStateError.forked } }
    switch membership {
    case .success(let id):
      // No snapshot is taken, so the notice continues: each mutation gets here.
      guard key.access == .readWrite else { return key.store.link.discarded(id, stamp: box.versions.local) }
      guard let notice = box.mutationNotice else { return }
      key.store.link.changed(id, keeping: box)
      // Only after the link knows: a thread that changes the value now, and then flushes, relies on it.
      box.endMutationNotice(notice)
    case .failure(let error):
      box.updateStatus { $0.saveError = error }
      key.store.link.noteGivenUp(key.name, error, self)
    }
  }

  func load(within timeout: Duration?) async throws {
    try await traced("load") {
      let id = try state.withLock { $0.membership }.get()
      try await key.store.link.wait { state, callback throws(RedisSharedStateError) in
        try state.load(id, within: timeout, now: .now, callback: callback)
      }
    }
  }

  func save(replacingUnreadable: Bool, within timeout: Duration?) async throws {
    try await save(replacingUnreadable: replacingUnreadable, replicas: nil, within: timeout)
  }

  func save(replicas: RedisReplicas, within timeout: Duration?) async throws {
    try await save(replacingUnreadable: false, replicas: replicas, within: timeout)
  }

  private func save(replacingUnreadable: Bool, replicas: RedisReplicas?, within timeout: Duration?) async throws {
    try await traced("save") {
      let (box, membership) = state.withLock { ($0.box, $0.membership) }
      let id = try writable(membership)
      guard let box else { return }
      let stamp = box.versions.local
      try await key.store.link.wait(sending: id) { state, callback throws(RedisSharedStateError) in
        try state.save(
          id,
          stamp: stamp,
          replacingUnreadable: replacingUnreadable,
          replicas: replicas,
          within: timeout,
          now: .now,
          keeping: RetainedBox(box, since: .now),
          callback: callback
        )
      }
    }
  }

  func reset(within timeout: Duration?) async throws {
    try await traced("reset") {
      let (box, membership) = state.withLock { ($0.box, $0.membership) }
      let id = try writable(membership)
      guard let box else { return }
      let stamp = box.versions.local
      try await key.store.link.wait { state, callback throws(RedisSharedStateError) in
        let kept = RetainedBox(box, since: .now)
        return try state.reset(id, stamp: stamp, within: timeout, now: .now, keeping: kept, callback: callback)
      }
    }
  }

  func updateAtomically(
    within timeout: Duration?,
    _ update: @escaping @Sendable (UnsafeMutableRawPointer) -> Bool
  ) async throws {
    try await traced("updateAtomically") {
      let id = try writable(state.withLock { $0.membership })
      let (link, name) = (key.store.link, key.name)
      try await link.wait(sending: id) { state, callback throws(RedisSharedStateError) in
        try state.update(id, with: update, within: timeout, now: .now, callback: callback)
      } onCancellation: { waiter in
        if link.cancelUpdate(waiter) { throw RedisSharedStateError.outcomeUnknown(name: name) }
      }
    }
  }

  /// The replica for an operation that changes what is stored.
  private func writable(
    _ membership: Result<LinkState.ReplicaID, RedisSharedStateError>
  ) throws(RedisSharedStateError) -> LinkState.ReplicaID {
    let id = try membership.get()
    guard key.access == .readWrite else { throw .readOnly(name: key.name) }
    return id
  }

  private func traced(_ operation: String, _ body: () async throws -> Void) async throws {
    try await key.store.traced(operation, of: key.name, body)
  }

  var userCode: UserCodeThreads { key.store.link.userCode }

  func saveErrorWasRead(_ error: any Error) {
    guard let error = error as? RedisSharedStateError, case .success(let id) = state.withLock({ $0.membership }) else {
      return
    }
    key.store.link.saveErrorWasRead(id, error)
  }

  func changesWereReported() {
    let (box, membership) = state.withLock { ($0.box, $0.membership) }
    box?.noteErrorsAreRead()
    if case .success(let id) = membership { key.store.link.discardedWasReported(id) }
  }

  func errorIsUnread(_ message: String) {
    key.store.telemetry.errorIsUnread(message, of: key.name)
  }

  var keyDescription: String { key.expression }

  func isBlocked(by code: BlockedCode, share: String, sharedAt place: String?) {
    key.store.link.isBlocked(by: code, of: key.name, sharedAt: place)
  }

  // MARK: ReplicaAttachment

  var declaredAt: String? { state.withLock { $0.box }?.declaredAt }
  var isPlain: Bool { key.isPlain }
  var status: BoxStatus? { state.withLock { $0.box }?.status }

  func encode(
    _ encoding: Replica.Encoding,
    updates: [LinkState.WaiterID: AtomicUpdate],
    whenUnlocked: @escaping @Sendable () -> Void
  ) -> Replica.Encoded? {
    if let fork = encoding.fork { return coder.merged(fork) }
    guard encoding.updates.isEmpty else {
      return coder.documents(default: initialValue, encoding) { waiter, value in
        // A caller that has stopped waiting has no update any more.
        withUnsafeMutablePointer(to: &value) { updates[waiter]?(UnsafeMutableRawPointer($0)) ?? false }
      }
    }
    guard let box = state.withLock({ $0.box }) else {
      return Replica.Encoded(stamp: 0, result: .failure(.stopped))
    }
    // The deferred snapshot comes first, so that a value whose lock is held by one closure after the other is encoded,
    // too. But it must not undo a later change by another service.
    if let deferred = state.withLock({ $0.snapshot.take() }), deferred.versions.remote == box.remoteChanges {
      return encode(deferred, encoding)
    }
    let snapshot = box.snapshot { [weak self] snapshot in
      self?.state.withLock { $0.snapshot = snapshot }
      whenUnlocked()
    }
    return snapshot.map { encode($0, encoding) }
  }

  private func encode(
    _ snapshot: ValueBox<Value>.Snapshot,
    _ encoding: Replica.Encoding
  ) -> Replica.Encoded {
    coder.documents(of: snapshot.value, stamp: snapshot.versions.local, default: initialValue, encoding)
  }

  func show(
    _ toShow: Replica.StateToShow,
    whenUnlocked: @escaping @Sendable (Replica.ShowOutcome) -> Void
  ) -> Replica.ShowOutcome? {
    guard let box = state.withLock({ $0.box }) else { return .outdated }
    let value: Value
    // What is reported once the box shows the value.
    let shown: Replica.ShowOutcome
    do throws(RedisSharedStateError) {
      if let reading = try coder.accept(toShow.state.content, last: toShow.last) {
        value = reading.value
        let members = reading.unreadableMembers
        shown = if let members { .shownInPart(as: try coder.document(of: value).get(), members) } else { .shown }
      } else {
        value = try key.value(ofAbsent: initialValue)
        shown = .shown
      }
    } catch {
      return .unreadable(error)
    }
    // Without a stamp, only whether the state can be decoded is of interest, and the box is not needed.
    if toShow.stamp == nil { return .superseded }
    let outcome = box.replace(
      with: value,
      number: toShow.sequence,
      isInitial: toShow.isInitial,
      if: { [self] versions in decide(toShow, versions) },
      whenUnlocked: { whenUnlocked(Replica.ShowOutcome($0, shown: shown)) }
    )
    return outcome.map { Replica.ShowOutcome($0, shown: shown) }
  }

  /// Called with the box's lock held.
  private func decide(_ toShow: Replica.StateToShow, _ versions: Versions) -> Replacement {
    guard shownState.precedes(toShow.sequence) else { return .outdated }
    if versions.local != toShow.stamp { return .superseded }
    shownState.advance(to: toShow.sequence)
    return .done
  }

  func show(_ change: Replica.StatusChange, number: UInt64) {
    if let box = state.withLock({ $0.box }) { shownStatus.show(change, number: number, in: box) }
  }
}

/// Remembers which members of one value were taken from its default, and whether all of them were, so that each is
/// reported once.
private final class ReportedCompletions: Sendable {
  /// The number of members that are remembered; further ones are not reported. A type may look for members of any name,
  /// so nothing else bounds their number.
  private static let maximum = 100

  private let members = Mutex<Set<[String]>>([])
  private let wasOfOtherShape = Atomic(false)
  private let wasRead = Atomic(false)

  /// Remembers that a document had none of the type's members, and returns whether that was not reported before.
  func insertOtherShape() -> Bool {
    !wasOfOtherShape.exchange(true, ordering: .relaxed)
  }

  /// Remembers the members that a document lacks. Returns those that were not reported before, and whether another
  /// document was read before.
  func insert(_ paths: [[String]]) -> (missing: [[String]], wasRead: Bool) {
    let wasRead = wasRead.load(ordering: .relaxed)
    if !wasRead { self.wasRead.store(true, ordering: .relaxed) }
    guard !paths.isEmpty else { return ([], wasRead) }
    let missing = members.withLock { members in
      paths.filter { members.count < Self.maximum && members.insert($0).inserted }
    }
    return (missing, wasRead)
  }
}

extension Replica.ShowOutcome {
  /// - Parameter shown: The outcome if the box shows the value.
  fileprivate init(_ outcome: Replacement, shown: Self) {
    switch outcome {
    case .done: self = shown
    case .superseded: self = .superseded
    case .outdated: self = .outdated
    }
  }
}
