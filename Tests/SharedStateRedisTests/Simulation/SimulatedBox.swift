import SharedStateRedis

/// A model of one reference and its persistence: the value, its stamp, and whether the next mutation is reported.
///
/// Beside what the real ones know, it knows what is true, so that it can tell when a guarantee is broken.
final class SimulatedBox {
  let names: KeyNames
  let policy: ReplicaPolicy
  let release: SimulatedValue.Release
  var id: LinkState.ReplicaID = 0

  private(set) var value: SimulatedValue
  private(set) var stamp: UInt64 = 0
  /// Whether the next mutation is reported; counts how often that was asked for.
  private var isWatched = true
  private var watches = 0
  private var shownSequence: UInt64 = 0

  var isLoading = Numbered(false)
  var hasLoadError = Numbered(false)
  var hasSaveError = Numbered(false)

  /// Whether the program still has a share of it.
  var hasShare = true
  /// Whether the link keeps it for the sake of an unacknowledged change.
  var isKept = false
  var hasLeft = false

  /// The newest revision that was shown, or that is our own and acknowledged.
  var revision = Revision.none
  /// The local mutations that the server has acknowledged, or that were given up.
  private(set) var acknowledgedStamp: UInt64 = 0
  /// Whether the newest change that was dealt with was given up.
  private(set) var hasGivenUp = false
  /// The local mutations that the server has applied, or that were given up.
  var appliedStamp: UInt64 = 0
  /// The local mutations whose `withLock` has returned.
  var returnedStamp: UInt64 = 0
  /// The mutations that are in the box and in nothing that the service knows to be stored.
  private var changes: [(stamp: UInt64, field: SimulatedDocument.Field, number: Int)] = []
  /// Whether what was stored has been deleted, while the box may still have what was in it.
  private var isReset = false

  var name: String { names.value }

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

  init(names: KeyNames, policy: ReplicaPolicy, release: SimulatedValue.Release) {
    self.names = names
    self.policy = policy
    self.release = release
    value = SimulatedValue(default: release)
  }

  // MARK: Mutating

  /// A local mutation; says whether it is to be reported.
  func mutate(_ field: SimulatedDocument.Field, to number: Int) -> Bool {
    value[field] = number
    stamp += 1
    changes.append((stamp, field, number))
    return isWatched
  }

  /// As `Reference.mutationWatch`: `nil` when nobody wants to know.
  var watch: Int? { isWatched ? watches : nil }

  /// As `Reference.endMutationWatch`.
  func endWatch(_ watch: Int) {
    if watches == watch { isWatched = false }
  }

  func snapshot() -> (value: SimulatedValue, stamp: UInt64) {
    isWatched = true
    watches += 1
    return (value, stamp)
  }

  /// What the mutations so far have made of each field; `nil` when that cannot be told.
  var changedFields: [SimulatedDocument.Field: Int]? {
    isReset ? nil : Dictionary(changes.map { ($0.field, $0.number) }, uniquingKeysWith: { $1 })
  }

  // MARK: What becomes of mutations

  /// The server has acknowledged the mutations up to this one.
  func acknowledge(_ stamp: UInt64, isReset: Bool = false) {
    acknowledgedStamp = max(acknowledgedStamp, stamp)
    hasGivenUp = false
    changes.removeAll { $0.stamp <= stamp }
    self.isReset = isReset
  }

  /// The mutations up to this one cannot be encoded, or have given way to what somebody else has done.
  func giveUp(_ stamp: UInt64) {
    acknowledgedStamp = max(acknowledgedStamp, stamp)
    appliedStamp = max(appliedStamp, stamp)
    hasGivenUp = true
  }

  // MARK: Showing

  /// As `RedisPersistence.show`; says in the second part which guarantee that breaks.
  func show(_ delivery: Replica.Delivery, isOwn: Bool) -> (Replica.DeliveryOutcome, violation: String?) {
    let shown: SimulatedValue
    switch delivery.state.content {
    case .absent: shown = SimulatedValue(default: release)
    case .otherType(let type): return (.unreadable(.wrongRedisType(name: name, type: type)), nil)
    case .document(let document):
      guard let decoded = SimulatedValue(document, release: release) else {
        return (.unreadable(.decodingFailed(name: name, reason: "simulated")), nil)
      }
      shown = decoded
    }
    if delivery.sequence <= shownSequence { return (.outdated, nil) }
    if delivery.stamp != stamp { return (.superseded, nil) }
    shownSequence = delivery.sequence
    defer { (value, revision, changes, isReset) = (shown, max(revision, delivery.state.revision), [], false) }
    if delivery.state.revision < revision, policy.dataLoss != .adoptServer {
      return (.shown, "Ordered: \(name) went from \(revision) back to \(delivery.state.revision)")
    }
    if stamp > acknowledgedStamp {
      return (.shown, "NoEcho: \(name) lost the local change \(stamp), acknowledged is \(acknowledgedStamp)")
    }
    // What is found when the share is made may have been written by an earlier share of the same service.
    if isOwn, delivery.state.content != .absent, shown == value, delivery.sequence > 1 {
      return (.shown, "NoEcho: \(name) was told of its own \(value)")
    }
    return (.shown, nil)
  }
}
