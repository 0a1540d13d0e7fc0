import SharedState
@testable import SharedStateRedis
import SharedStateRedisTesting

/// A model of one box and its persistence: the value, its stamp, and whether the next mutation is reported.
///
/// It records what becomes of the value.
final class SimulatedBox {
  let names: KeyNames
  let policy: ReplicaPolicy
  let release: SimulatedValue.Release
  /// What the history calls it.
  let place: History.Box
  private let recorder: SimulatedRecorder
  var id: LinkState.ReplicaID = 0

  private(set) var value: SimulatedValue
  private(set) var stamp: UInt64 = 0
  /// Whether the next mutation is reported; counts how often that was asked for.
  private var isWatched = true
  private var watches = 0
  private var shownSequence: UInt64 = 0
  /// Whether a message has told what was not true, and the box may still show it.
  private var isWithdrawing = false
  private var shows = 0

  /// Whether a closure of the program's has the value.
  private(set) var isLocked = false
  /// What was left meanwhile, to whoever ends the closure.
  private var leftDelivery: Replica.Delivery?
  private var isSnapshotWanted = false
  /// What that has left for the next encoding.
  private var leftSnapshot: (snapshot: Snapshot, shows: Int)?

  var isLoading = Numbered(false)
  var hasLoadError = Numbered(false)
  var hasSaveError = Numbered(false)

  /// Whether the program still has a share of it.
  var hasShare = true
  /// Whether the link keeps it for the sake of an unacknowledged change.
  var isKept = false
  var hasLeft = false
  /// Whether it was told that the server does not permit it.
  var wasForbidden = false

  /// The newest revision that was shown, or that is our own and acknowledged.
  var revision = Revision.none
  /// The local mutations that the server has acknowledged, or that were given up.
  private(set) var acknowledgedStamp: UInt64 = 0
  /// Whether the newest change that was dealt with was given up.
  private(set) var hasGivenUp = false
  /// The local mutations whose `withLock` has returned.
  var returnedStamp: UInt64 = 0
  /// The mutations that are in the box and in nothing that the service knows to be stored.
  private var changes: [(stamp: UInt64, change: SimulatedChange)] = []
  /// Whether what was stored has been deleted, while the box may still have what was in it.
  private var isReset = false

  var name: String { names.recorded }

  /// What a status shows, and the number of the decision behind it.
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

  /// A local mutation; says whether it is to be reported.
  func mutate(_ change: SimulatedChange) -> Bool {
    value.apply(change)
    stamp += 1
    changes.append((stamp, change))
    var fields = change.fields
    if change.increment > 0 { fields[SimulatedDocument.sumField] = value.document.sum?.description }
    recorder.record(.changed(place, number: Int(stamp), History.Document(fields)))
    return isWatched
  }

  /// What the mutations make of each field that are in the box and in nothing that the service knows to be stored.
  var pendingFields: [String: String] {
    Dictionary(changes.flatMap(\.change.fields), uniquingKeysWith: { $1 })
  }

  /// As `Box.mutationWatch`: `nil` when nobody wants to know.
  var watch: Int? { isWatched ? watches : nil }

  /// As `Box.endMutationWatch`.
  func endWatch(_ watch: Int) {
    if watches == watch { isWatched = false }
  }

  /// What is encoded, and what the mutations so far have made of it; `nil` when that cannot be told.
  typealias Snapshot = (value: SimulatedValue, stamp: UInt64, changes: SimulatedOperation.Changes?)

  /// As `RedisPersistence.encode`; `nil`: a closure has the value.
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

  /// A closure of the program's begins.
  func lock() { isLocked = true }

  /// The closure has ended. As `Box.performLeft`: what came of what was left, and whether there is a snapshot now.
  func unlock() -> (delivered: (Replica.Delivery, Replica.DeliveryOutcome)?, hasSnapshot: Bool) {
    isLocked = false
    let delivered = leftDelivery.flatMap { delivery in show(delivery).map { (delivery, $0) } }
    leftDelivery = nil
    defer { isSnapshotWanted = false }
    if isSnapshotWanted { leftSnapshot = (takeSnapshot(), shows) }
    return (delivered, isSnapshotWanted)
  }

  private var pendingChanges: SimulatedOperation.Changes? {
    isReset
      ? nil
      : SimulatedOperation.Changes(fields: pendingFields, increment: changes.reduce(0) { $0 + $1.change.increment })
  }

  // MARK: What becomes of mutations

  /// The server has acknowledged the mutations up to this one.
  func acknowledge(_ stamp: UInt64, _ revision: Revision, isReset: Bool = false) {
    recorder.record(.acknowledged(place, through: Int(stamp), revision: revision.rawValue))
    self.revision = max(self.revision, revision)
    acknowledgedStamp = max(acknowledgedStamp, stamp)
    hasGivenUp = false
    changes.removeAll { $0.stamp <= stamp }
    self.isReset = isReset
  }

  /// The mutations up to this one have given way to what somebody else has done, or cannot be encoded.
  func giveUp(_ stamp: UInt64, isEncodable: Bool) {
    let through = Int(stamp)
    recorder.record(isEncodable ? .conceded(place, through: through) : .notEncodable(place, through: through))
    acknowledgedStamp = max(acknowledgedStamp, stamp)
    hasGivenUp = true
  }

  /// The server has refused to delete what is stored.
  func giveUpReset() { hasGivenUp = true }

  // MARK: Showing

  /// What a message has told was not true.
  ///
  /// What was decided before may be shown only now, so it counts until something else is shown.
  func withdraw() {
    isWithdrawing = true
    recorder.record(.withdrawn(place))
  }

  /// As `RedisPersistence.show`; `nil`: a closure has the value.
  func show(_ delivery: Replica.Delivery) -> Replica.DeliveryOutcome? {
    let shown: SimulatedValue
    switch delivery.state.content {
    case .absent: shown = SimulatedValue(default: release)
    case .otherType(let type): return .unreadable(.wrongType(type, name: name))
    case .oversized(let bytes): return .unreadable(.valueTooLarge(name: name, bytes: bytes, maximumBytes: 1 << 20))
    case .document(let document):
      guard let decoded = SimulatedValue(document, release: release) else {
        return .unreadable(.undecodable(name: name, reason: "simulated", writer: nil))
      }
      shown = decoded
    }
    if delivery.stamp == nil { return .superseded }
    if isLocked {
      leftDelivery = delivery
      return nil
    }
    if delivery.sequence <= shownSequence { return .outdated }
    if delivery.stamp != stamp { return .superseded }
    shownSequence = delivery.sequence
    shows += 1
    if isWithdrawing, delivery.state.revision < revision {
      isWithdrawing = false
      recorder.record(.withdrawn(place))
    }
    (value, revision, changes, isReset) = (shown, max(revision, delivery.state.revision), [], false)
    let document = delivery.state.content == .absent ? nil : shown.document.recorded
    let newest = delivery.state.revision.rawValue
    recorder.record(.shown(place, document, revision: newest, isFromOutside: true))
    return .shown
  }
}
