package import Foundation

/// The properties that most boxes never need, kept apart so that the boxes are small.
///
/// Only touched with the side lock of the box held, or before any other thread can see the box.
final class BoxSideTable {
  /// The tasks that wait for the next change.
  var waiters: [ObjectIdentifier: ChangeWaiter] = [:]

  /// The tasks that wait until the observers are notified.
  var deliveryWaiters = DeliveryWaiters()

  /// Counts how often the persistence has asked to be notified of the next mutation.
  var mutationNotices: UInt64 = 0

  /// The work for the thread that ends the running closure.
  var deferred = Box.DeferredWork()

  /// The values of `isLoading`, `loadError` and `saveError`.
  var status = BoxStatus()

  /// The kinds of user code of which a warning was written that they block others.
  var reportedBlocks: Set<BlockedCode> = []

  /// Since when deferred work waits for the end of the running closure.
  var waitsSince: ContinuousClock.Instant?
  /// Whether a check of this is scheduled.
  var isClosureWatched = false

  /// Whether an error that is not read is to be reported.
  var errorReport = ErrorReport.possible

  enum ErrorReport {
    /// There was no error yet.
    case possible
    /// There is an error, which may still be read.
    case due
    /// The errors are read, or one was reported.
    case unneeded
  }

  /// Whether the main thread is about to notify the observers that belong to it.
  var isMainThreadDeliveryDue = false

  /// The trackers of changes to the box, wherever these are made.
  var trackers = AttachedTrackers()

  /// The test that the box was made in; written once.
  var testHome: TestHome?

  /// The entry in the registry; written once.
  var registration: Registration?
}

/// The status of a box: the values of `isLoading`, `loadError` and `saveError`.
package struct BoxStatus: Sendable {
  /// How many loads are under way.
  var loadsUnderWay = 0
  /// Whether the key says that it is loading.
  private var isKeyLoading = false
  private var loadFailure: (any Error)? {
    didSet { loadFailedAt = Self.start(of: loadFailure, after: oldValue, loadFailedAt) }
  }
  /// When ``loadError`` was set last while there was none.
  package private(set) var loadFailedAt: Date?
  /// Why the key does not watch the value. It stays while values are loaded and saved.
  var watchError: (any Error)?
  package var saveError: (any Error)? {
    didSet { saveFailedAt = Self.start(of: saveError, after: oldValue, saveFailedAt) }
  }
  /// When ``saveError`` was set last while there was none.
  package private(set) var saveFailedAt: Date?

  package init() {}

  /// The time at which an error was set while there was none.
  private static func start(of error: (any Error)?, after before: (any Error)?, _ start: Date?) -> Date? {
    error == nil ? nil : before == nil ? Date() : start
  }

  /// Whether a load is under way, or the key says that it is loading; only the latter can be set.
  package var isLoading: Bool {
    get { isKeyLoading || loadsUnderWay > 0 }
    set { isKeyLoading = newValue }
  }

  /// Why the value could not be loaded, or may be stale; only the former can be set.
  package var loadError: (any Error)? {
    get { loadFailure ?? watchError }
    set { loadFailure = newValue }
  }

  /// The error that the store does not report itself.
  var error: (any Error)? {
    [loadError, saveError].compactMap(\.self).first { !(($0 as? any StoreError)?.isReportedByStore ?? false) }
  }

  /// Whether the value is neither loading nor has an error.
  var isIdle: Bool { !isLoading && loadError == nil && saveError == nil }
}
