/// What most references in memory never have, kept apart so that these are small.
///
/// Only touched with the side lock of the reference held, or before anybody else can see the reference.
final class ReferenceRarities {
  /// Those who wait for the next change.
  var waiters: [ObjectIdentifier: ChangeWaiter] = [:]

  /// Counts how often the persistence has asked to be told of the next mutation.
  var mutationWatches: UInt64 = 0

  /// What whoever ends the closure that is running has to do.
  var left = Reference.LeftVisits()

  /// What `isLoading`, `loadError` and `saveError` show.
  var status = ReferenceStatus()

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

  /// Those who track the changes made to the reference, by whoever makes them.
  var trackers = AttachedTrackers()

  /// The test that the reference was made in; written once.
  var testHome: TestHome?

  /// The entry in the registry; written once.
  var registration: Registration?
}
