/// How the value of a box is loaded and saved.
///
/// Its methods are called without the box's lock.
package protocol BoxPersistence: AnyObject, Sendable {
  /// The key, as Swift code that makes it.
  var keyDescription: String { get }
  /// Called on the mutating thread when a local mutation is visible, if the box asks for attention.
  func boxDidMutate()
  /// Loads the value again.
  ///
  /// - Parameter timeout: The longest time to wait, here and below; `nil` for the time that is usual for the key.
  func load(within timeout: Duration?) async throws
  /// Saves the present value, and returns once it is kept.
  ///
  /// - Parameter replacingUnreadable: Whether to replace a stored document that cannot be read.
  func save(replacingUnreadable: Bool, within timeout: Duration?) async throws
  /// Deletes what is stored, and returns once the value is the default again.
  func reset(within timeout: Duration?) async throws
  /// Whether an unread error is reported.
  var reportsUnreadErrors: Bool { get }
  /// Called when user code reads an error that ``BoxStatus/saveError`` has.
  func saveErrorWasRead(_ error: any Error)
  /// Writes a message about such an error to the log.
  func errorIsUnread(_ message: String)
  /// The threads that notify the observers of changes that came from elsewhere.
  var userCode: UserCodeThreads { get }
  /// Warns that user code has blocked others for a second. Called once for each box and kind of code.
  ///
  /// - Parameters:
  ///   - share: The name of the share.
  ///   - place: Where the first share of the value is declared.
  func isBlocked(by code: BlockedCode, share: String, sharedAt place: String?)
}

/// User code that others wait for.
package enum BlockedCode: Sendable {
  /// An observer, on a user code thread.
  case observer
  /// A closure of `withLock`.
  case closure
}

extension BoxPersistence {
  package var userCode: UserCodeThreads { .local }

  package func saveErrorWasRead(_ error: any Error) {}

  package func isBlocked(by code: BlockedCode, share: String, sharedAt place: String?) {
    code.warn(of: share)
  }
}

/// Keeps a value that other processes may change at the same time.
package protocol RemotePersistence: BoxPersistence {
  /// Changes the stored value in one step, with no other process in between, and returns once it is kept and shown.
  ///
  /// - Parameter update: Takes a pointer to a value of the box's type, and returns whether it has changed it. It may
  ///   run again, on a newer value; its earlier runs then have no effect.
  func updateAtomically(
    within timeout: Duration?,
    _ update: @escaping @Sendable (UnsafeMutableRawPointer) -> Bool
  ) async throws
}
