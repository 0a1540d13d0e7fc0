/// What most boxes in memory never have, kept apart so that these are small.
///
/// Only touched with the side lock of the box held, or before anybody else can see the box.
final class BoxRarities {
  /// Those who wait for the next change.
  var waiters: [ObjectIdentifier: ChangeWaiter] = [:]

  /// Counts how often the persistence has asked to be told of the next mutation.
  var mutationWatches: UInt64 = 0

  /// What whoever ends the closure that is running has to do.
  var left = Box.LeftVisits()

  /// What `isLoading`, `loadError` and `saveError` show.
  var status = BoxStatus()

  /// Whether it was told that an observer has blocked a delivery thread.
  var hasBlockedObserver = false

  /// Whether an error is to be reported that nobody reads.
  var errorReport = ErrorReport.possible

  enum ErrorReport {
    /// There was none yet.
    case possible
    /// There is one, which somebody may still read.
    case due
    /// Somebody reads the errors, or one was reported.
    case unneeded
  }

  /// Whether the main thread is about to tell the observers that belong to it.
  var isMainThreadDeliveryDue = false

  /// Those who track the changes made to the box, by whoever makes them.
  var trackers = AttachedTrackers()

  /// The test that the box was made in; written once.
  var testHome: TestHome?

  /// The entry in the registry; written once.
  var registration: Registration?
}

/// The status of a box: what `isLoading`, `loadError` and `saveError` show.
package struct BoxStatus: Sendable {
  /// How many loads are under way.
  var loadsUnderWay = 0
  /// Whether the key says that it is loading.
  private var isKeyLoading = false
  package var loadError: (any Error)?
  package var saveError: (any Error)?

  package init() {}

  /// Whether a load is under way, or the key says that it is loading; only the latter can be set.
  package var isLoading: Bool {
    get { isKeyLoading || loadsUnderWay > 0 }
    set { isKeyLoading = newValue }
  }

  /// An error that nobody else tells of.
  var error: (any Error)? {
    [loadError, saveError].compactMap(\.self).first { !(($0 as? any StoreError)?.isToldByStore ?? false) }
  }

  /// Whether there is nothing to tell anybody.
  var isIdle: Bool { !isLoading && loadError == nil && saveError == nil }
}
