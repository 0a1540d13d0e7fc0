/// The reports about a value to the program and its operator.
struct Reports: Sendable {
  /// Whether `isLoading` or `loadError` is set, so that it has to be cleared once the value is up to date.
  private var hasLoadStatus = true
  /// The `loadError` that was reported last because the document is unreadable.
  private var unreadable: RedisSharedStateError?
  /// The unreadable content that was logged last.
  private var loggedUnreadable: StoredValue.Content?
  /// The unreadable members that were logged last.
  private var loggedMembers: RedisSharedStateError?
  private(set) var hasSaveError = false
  /// The stamp and the reason of the last change that was given up; `nil` once the value is saved.
  private(set) var givenUp: (stamp: UInt64, error: RedisSharedStateError)?
  /// The reason of the last discarded change, until the program is notified. The box no longer has that change, so no
  /// later save makes up for it.
  private(set) var discarded: RedisSharedStateError?

  /// The program was informed that the value is loading, or cannot be loaded.
  mutating func loadStatusChanged() {
    hasLoadStatus = true
  }

  /// The value is up to date, or its document is unreadable.
  ///
  /// - Returns: Whether the program has to be informed.
  mutating func loaded(_ unreadable: RedisSharedStateError?) -> Bool {
    guard hasLoadStatus || self.unreadable != unreadable else { return false }
    (hasLoadStatus, self.unreadable) = (false, unreadable)
    return true
  }

  /// A stored document is unreadable. The same content is logged once, even if an edit is adopted later.
  ///
  /// - Returns: Whether it has to be logged.
  mutating func noteUnreadable(_ content: StoredValue.Content) -> Bool {
    hasLoadStatus = true
    guard loggedUnreadable != content else { return false }
    loggedUnreadable = content
    return true
  }

  /// Some members of the shown document cannot be read, or each of them can (`nil`). The same ones are logged once.
  ///
  /// - Returns: What has to be logged.
  mutating func noteUnreadableMembers(_ error: RedisSharedStateError?) -> RedisSharedStateError? {
    defer { loggedMembers = error }
    return error == loggedMembers ? nil : error
  }

  /// The stored document can be read.
  mutating func noteReadable() {
    loggedUnreadable = nil
  }

  /// The program was informed that the value cannot be saved.
  mutating func saveFailed() {
    hasSaveError = true
  }

  /// The value is saved.
  ///
  /// - Returns: Whether the program has to be informed, because there was an error.
  mutating func saved() -> Bool {
    defer { (hasSaveError, givenUp) = (false, nil) }
    return hasSaveError
  }

  /// A change was discarded in favour of another service's.
  mutating func discard(_ error: RedisSharedStateError) {
    discarded = error
  }

  /// The program is notified of the discarded change.
  ///
  /// - Returns: The reason; `nil` if there is none.
  @discardableResult
  mutating func takeDiscarded() -> RedisSharedStateError? { discarded.take() }

  /// The program has read this error.
  mutating func wasRead(_ error: RedisSharedStateError) {
    if discarded == error { discarded = nil }
  }

  /// The local changes up to the stamp were given up.
  ///
  /// - Returns: Whether the operator has to be informed: once for each stamp.
  mutating func gaveUp(_ stamp: UInt64, _ error: RedisSharedStateError) -> Bool {
    defer { (hasSaveError, givenUp) = (true, (stamp, error)) }
    return givenUp?.stamp != stamp
  }
}
