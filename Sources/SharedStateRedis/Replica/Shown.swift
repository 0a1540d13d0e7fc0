import Foundation

/// What the box shows, apart from the local changes that are not acknowledged.
struct Shown: Sendable {
  /// How the box relates to the confirmed state.
  enum Sight: Hashable, Sendable {
    /// The box shows it, apart from local changes made after it.
    case reflected
    /// It has not been decoded yet.
    case unknown
    /// It can be decoded, but a local change prevented showing it when the box had to have this stamp.
    case blocked(stamp: UInt64?)
    case unreadable(RedisSharedStateError)
  }

  /// A state that is being shown. Until its outcome is known nothing is committed, because it may be unreadable.
  struct Showing: Equatable, Sendable {
    let sequence: UInt64
    let revision: Revision
  }

  private(set) var base = Replica.Base.defaultValue
  /// The revision of `base`.
  private(set) var baseRevision = Revision.none
  /// The document sent for the last local change, if it decodes to the value in the box.
  private(set) var reflected: Data?
  private(set) var sight = Sight.reflected
  /// The members of the shown document that cannot be read. The box shows other values of them.
  private(set) var unreadableMembers: RedisSharedStateError?
  private(set) var showing: Showing?
  /// What the box shows next instead of a discarded change, and the stamp of that change.
  private(set) var reversion: (state: Replica.State, stamp: UInt64)?
  /// The stamp of a discarded change that is in the box until the confirmed state is shown.
  private var discarded: UInt64?
  /// Counts the attempts to show a state.
  private var sequence: UInt64 = 0
  /// Whether the box has been up to date once, so that everything shown from now on is a change.
  private(set) var isLoaded = false

  /// Why the stored document cannot be read. A local change waits for as long as it is there.
  var unreadable: RedisSharedStateError? {
    if case .unreadable(let error) = sight { error } else { nil }
  }

  /// Whether the box has this version, which was made here, and no other state was shown since.
  func isMadeHere(_ version: VerifiedVersion) -> Bool {
    guard case .encoded = base else { return false }
    return baseRevision == version.revision && version.content.document == reflected
  }

  /// An attempt to show the state with this revision begins. Returns its number.
  mutating func begin(_ revision: Revision) -> UInt64 {
    sequence += 1
    showing = Showing(sequence: sequence, revision: revision)
    return sequence
  }

  /// An attempt to show a state has ended, with or without success.
  mutating func end(_ sequence: UInt64) {
    if showing?.sequence == sequence { showing = nil }
  }

  /// The box has this base, apart from the local changes that are not acknowledged.
  ///
  /// - Parameter unreadableMembers: The members of the stored document that cannot be read.
  mutating func reflect(
    _ base: Replica.Base,
    at revision: Revision,
    unreadableMembers: RedisSharedStateError? = nil
  ) {
    (self.base, baseRevision, self.unreadableMembers, discarded) = (base, revision, unreadableMembers, nil)
  }

  /// A local change was committed, and is the base of the next one.
  ///
  /// - Parameters:
  ///   - stored: The document that was sent.
  ///   - isReflected: Whether it decodes to the value in the box.
  ///   - unreadableMembers: Its members that cannot be read.
  mutating func reflect(
    _ encoded: Data,
    stored: Data?,
    at revision: Revision,
    isReflected: Bool,
    unreadableMembers: RedisSharedStateError?
  ) {
    reflect(.encoded(encoded, stored: stored ?? encoded), at: revision, unreadableMembers: unreadableMembers)
    reflected = isReflected ? stored : nil
  }

  /// The confirmed state equals what the box shows.
  mutating func keep(at revision: Revision) {
    baseRevision = revision
    markReflected()
  }

  /// The box shows the confirmed state, or a newer one.
  mutating func markReflected() {
    (sight, discarded) = (.reflected, nil)
  }

  /// There is another confirmed state, to be decoded and shown.
  mutating func markUnknown() {
    sight = .unknown
  }

  /// A box that shows the confirmed state no longer does. One that could not show it still cannot.
  mutating func markUnknownIfReflected() {
    if sight == .reflected { sight = .unknown }
  }

  /// A local change prevented showing the confirmed state.
  mutating func markBlocked(at stamp: UInt64?) {
    sight = .blocked(stamp: stamp)
  }

  /// The confirmed document cannot be read. If it was to take the place of a discarded change, the base does.
  mutating func markUnreadable(_ error: RedisSharedStateError) {
    sight = .unreadable(error)
    if let stamp = discarded.take() { revert(stamp) }
  }

  /// A change is discarded. The box shows the confirmed state next.
  mutating func discard(_ stamp: UInt64) {
    markUnknownIfReflected()
    discarded = stamp
  }

  /// A change is discarded while the confirmed state cannot be shown. The box shows its base next.
  mutating func revert(_ stamp: UInt64) {
    revert(to: Replica.State(revision: baseRevision, content: base.content), stamp)
  }

  /// A change is discarded that the box has shown on top of this state, which need not be the confirmed one.
  mutating func revert(to state: Replica.State, _ stamp: UInt64) {
    reversion = (state, stamp)
  }

  /// Removes and returns what the box shows next.
  mutating func takeReversion() -> (state: Replica.State, stamp: UInt64)? { reversion.take() }

  /// The box has been up to date.
  mutating func finishLoading() {
    isLoaded = true
  }
}
