/// How the value of a reference is loaded and saved.
///
/// Its methods are called without the reference's lock.
package protocol ReferencePersistence: AnyObject, Sendable {
  /// The key, as Swift code that makes it.
  var keyDescription: String { get }
  /// A local mutation is visible. Called on the mutating thread, when the reference asks for attention.
  func referenceDidMutate()
  /// Loads the value again.
  ///
  /// - Parameter timeout: How long to wait at the longest, here and below; `nil`: as long as it is usual for the key.
  func load(within timeout: Duration?) async throws
  /// Returns once the present value is kept.
  ///
  /// - Parameter replacingUnreadable: Whether it takes the place of what cannot be read.
  func save(replacingUnreadable: Bool, within timeout: Duration?) async throws
  /// Deletes what is kept, and returns once the value is the default again.
  func reset(within timeout: Duration?) async throws
  /// Whether an error that nobody reads is reported.
  var reportsUnreadErrors: Bool { get }
  /// Writes a message about such an error to the log.
  func errorIsUnread(_ message: String)
  /// Whose threads tell the observers of changes that were made elsewhere.
  var delivery: DeliveryThreads { get }
  /// An observer of the value has blocked one of those threads for a second. Called once for each reference.
  ///
  /// - Parameters:
  ///   - share: The name of the share.
  ///   - place: Where the first share of the value is declared.
  func observerIsBlocked(of share: String, sharedAt place: String?)
}

extension ReferencePersistence {
  package var delivery: DeliveryThreads { .local }

  package func observerIsBlocked(of share: String, sharedAt place: String?) {
    warnOfBlockedObserver(of: share)
  }
}
