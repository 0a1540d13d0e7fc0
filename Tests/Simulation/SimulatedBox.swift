import SharedState
@testable import SharedStateRedis
import SharedStateRedisTesting

/// A model of one box and its persistence: the value, its stamp, and whether the next mutation is reported.
///
/// It records the events of the value in the history.
final class SimulatedBox {
  let names: KeyNames
  let policy: ReplicaPolicy
  let release: SimulatedValue.Release
  /// The box in the history.
  let place: RedisHistory.Box
  private let recorder: SimulatedRecorder
  var id: LinkState.ReplicaID = 0

  private(set) var value: SimulatedValue
  private(set) var stamp: UInt64 = 0
  /// Whether the next mutation is reported. `watches` counts how often that was requested.
  private var isWatched = true
  private var watches = 0
  private var shownSequence: UInt64 = 0
  private var shows = 0

  /// Whether a closure of the program holds the value.
  private(set) var isLocked = false
  /// The state that arrived meanwhile. The thread that ends the closure shows it.
  private var deferredState: Replica.StateToShow?
  private var isSnapshotWanted = false
  /// The snapshot that was taken when the closure ended, for the next encoding.
  private var leftSnapshot: (snapshot: Snapshot, shows: Int)?

  var isLoading = Numbered(false)
  var hasLoadError = Numbered(false)
  var hasSaveError = Numbered(false)

  /// Whether the program still has a share of it.
  var hasShare = true
  /// Whether the link keeps the box because of an unacknowledged change.
  var isKept = false
  var hasLeft = false
  /// Whether the server has refused access to the value.
  var wasForbidden = false

  /// The newest revision that was shown, or that is the box's own and acknowledged.
  var revision = Revision.none
  /// The stamp of the last local mutation that the server has acknowledged, or that was given up.
  private(set) var acknowledgedStamp: UInt64 = 0
  /// Whether the last settled change was given up.
  private(set) var hasGivenUp = false
  /// The stamp of the last local mutation whose `withLock` has returned.
  var returnedStamp: UInt64 = 0
  /// The mutations in the box that are not part of any version that the service knows to be stored.
  private var changes: [(stamp: UInt64, change: SimulatedChange)] = []
  /// Whether the stored value has been deleted, while the box may still show it, or the box shows other changes that
  /// are not stored.
  private var isReset = false

  var name: String { names.recorded }

  /// A status, and the number of the decision that set it.
  struct Numbered {
    private(set) var value: Bool
    private var number: UInt64 = 0

    init(_ value: Bool) { self.value = value }

    mutating func set(_ value: Bool, number: UInt64) {
      guard number > self.number else { return }
      (self.value, self.number) = (value, number)
    }
  }

  init(
    names: KeyNames,
    policy: ReplicaPolicy,
    release: SimulatedValue.Release,
    service: String,
    recorder: SimulatedRecorder
  ) {
    self.names = names
    self.policy = policy
    self.release = release
    self.recorder = recorder
    place = recorder.makeBox(service: service, name: names.recorded)
    value = SimulatedValue(default: release)
  }

  // MARK: Mutating

  /// Makes a local mutation. Returns whether it has to be reported.
  func mutate(_ change: SimulatedChange) -> Bool {
    value.apply(change)
    stamp += 1
    changes.append((stamp, change))
    var fields = change.fields
    if change.increment > 0 { fields[SimulatedDocument.sumField] = value.document.sum?.description }
    recorder.record(.changed(place, number: Int(stamp), RedisHistory.Document(fields)))
    return isWatched
  }

  /// The fields that the pending mutations set.
  var pendingFields: [String: String] {
    Dictionary(changes.flatMap(\.change.fields), uniquingKeysWith: { $1 })
  }

  /// Like `Box.mutationNotice`: `nil` when no report is wanted.
  var watch: Int? { isWatched ? watches : nil }

  /// Like `Box.endMutationNotice`.
  func endWatch(_ watch: Int) {
    if watches == watch { isWatched = false }
  }

  /// The value to encode, and the changes that the mutations so far have made; `nil` when they are not known.
  typealias Snapshot = (value: SimulatedValue, stamp: UInt64, changes: SimulatedOperation.Changes?)

  /// Like `RedisPersistence.encode`; `nil`: a closure holds the value.
  func snapshot() -> Snapshot? {
    let left = leftSnapshot
    leftSnapshot = nil
    if let left, left.shows == shows { return left.snapshot }
    if isLocked {
      isSnapshotWanted = true
      return nil
    }
    return takeSnapshot()
  }

  private func takeSnapshot() -> Snapshot {
    isWatched = true
    watches += 1
    return (value, stamp, pendingChanges)
  }

  // MARK: Closures

  /// A closure of the program begins.
  func lock() { isLocked = true }

  /// The closure has ended. Like `Box.performDeferred`: returns the outcome of showing the deferred state, and whether
  /// there is a snapshot now.
  func unlock() -> (shown: (Replica.StateToShow, Replica.ShowOutcome)?, hasSnapshot: Bool) {
    isLocked = false
    let shown = deferredState.flatMap { toShow in show(toShow).map { (toShow, $0) } }
    deferredState = nil
    defer { isSnapshotWanted = false }
    if isSnapshotWanted { leftSnapshot = (takeSnapshot(), shows) }
    return (shown, isSnapshotWanted)
  }

  private var pendingChanges: SimulatedOperation.Changes? {
    isReset
      ? nil
      : SimulatedOperation.Changes(fields: pendingFields, increment: changes.reduce(0) { $0 + $1.change.increment })
  }

  // MARK: Outcomes of mutations

  /// The server has acknowledged the mutations up to this one.
  func acknowledge(_ stamp: UInt64, _ revision: Revision, isReset: Bool = false) {
    recorder.record(.acknowledged(place, through: Int(stamp), revision: revision.rawValue))
    self.revision = max(self.revision, revision)
    acknowledgedStamp = max(acknowledgedStamp, stamp)
    hasGivenUp = false
    changes.removeAll { $0.stamp <= stamp }
    self.isReset = isReset
  }

  /// The mutations up to this one have yielded to another writer, or cannot be encoded.
  func giveUp(_ stamp: UInt64, isEncodable: Bool) {
    hasGivenUp = true
    // The error is about a version that the server has lost after it had acknowledged it.
    guard stamp > acknowledgedStamp else { return }
    let through = Int(stamp)
    recorder.record(isEncodable ? .conceded(place, through: through) : .notEncodable(place, through: through))
    acknowledgedStamp = stamp
  }

  /// The server has refused to delete the stored value.
  func giveUpReset() { hasGivenUp = true }

  // MARK: Showing

  /// Like `RedisPersistence.show`; `nil`: a closure holds the value.
  func show(_ toShow: Replica.StateToShow) -> Replica.ShowOutcome? {
    let shown: SimulatedValue
    switch toShow.state.content {
    case .absent: shown = SimulatedValue(default: release)
    case .otherType(let type): return .unreadable(.wrongType(type, name: name))
    case .oversized(let bytes): return .unreadable(.valueTooLarge(name: name, bytes: bytes, maximumBytes: 1 << 20))
    case .document(let document):
      guard let decoded = SimulatedValue(document, release: release) else {
        return .unreadable(.undecodable(name: name, reason: "simulated", writer: nil))
      }
      shown = decoded
    }
    if toShow.stamp == nil { return .superseded }
    if isLocked {
      deferredState = toShow
      return nil
    }
    if toShow.sequence <= shownSequence { return .outdated }
    if toShow.stamp != stamp { return .superseded }
    shownSequence = toShow.sequence
    shows += 1
    // A history records no order of elements, so another order would look like an echo.
    let isOnlyReordered =
      shown.document.recorded == value.document.recorded
      && shown.document.list?.map(\.id) != value.document.list?.map(\.id)
    // What replaces a discarded change instead of the confirmed state may have changes that are not stored.
    (value, revision, changes, isReset) = (shown, max(revision, toShow.state.revision), [], toShow.isReversion)
    let document = toShow.state.content == .absent ? nil : shown.document.recorded
    let newest = toShow.state.revision.rawValue
    let isFromOutside = !isOnlyReordered && !toShow.isReversion
    recorder.record(.shown(place, document, revision: newest, isFromOutside: isFromOutside))
    return .shown
  }
}
