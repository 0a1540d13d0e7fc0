/// What a link counts for its operators, until the shell publishes it.
///
/// Counters are always kept; times and deliveries, which take memory, only once measurements are wanted. At most one
/// batch is on its way, so a slow metrics handler delays the next one, and a gauge never goes back to an older value.
struct Measurements: Sendable {
  /// Everything that is published together.
  struct Batch: Sendable {
    /// Commits that took effect, and commits that found another version than the one they were based on.
    var commits = 0
    var conflicts = 0
    /// Local changes that were merged with changes of other services, to be committed.
    var merges = 0
    /// Commits that were sent once more, unchanged.
    var retries = 0
    /// Stored documents that the type of the value could not be decoded from.
    var decodeFailures = 0
    /// How long the server took for each commit that took effect.
    var commitTimes: [Duration] = []
    /// The changes of other services that boxes show since.
    var delivered: [Revision] = []
    /// How many values have a change that is not acknowledged.
    var pendingValues = 0
    /// Whether values may be stale, because the store is not live.
    var isStale = true
    /// The certificates of connections that were opened since; empty: none were.
    var certificates: [RedisStore.Certificate] = []
  }

  /// How many times, and how many deliveries, one batch has at most. Further ones are left out.
  static let maximumTimes = 1_000

  /// Whether measurements are wanted.
  private(set) var isWanted = false
  private var batch = Batch()
  /// Whether something has happened that is not in a batch yet.
  private var hasNews = false
  /// The number of pending values in the last batch.
  private var publishedPending = 0
  /// Whether a batch is on its way.
  private var isPublishing = false

  /// Whether there is a batch to be taken.
  var isDue: Bool { isWanted && hasNews && !isPublishing }

  /// Measurements are wanted from now on, the gauges immediately.
  mutating func begin() {
    (isWanted, hasNews) = (true, true)
  }

  /// Takes what has happened since the last batch. The next one waits for ``published()``.
  mutating func take(isStale: Bool) -> Batch {
    batch.isStale = isStale
    (hasNews, isPublishing, publishedPending) = (false, true, batch.pendingValues)
    defer { batch = Batch(pendingValues: batch.pendingValues) }
    return batch
  }

  /// The last batch was published.
  mutating func published() {
    isPublishing = false
  }

  /// Something has happened that is counted elsewhere, such as a new phase of the session.
  mutating func touch() {
    hasNews = true
  }

  /// Connections were opened with these certificates.
  mutating func connected(with certificates: [RedisStore.Certificate]) {
    batch.certificates = certificates
    hasNews = true
  }

  // MARK: Pending values

  /// A value has a change that is not acknowledged. A change that the server acknowledges soon is not worth a batch.
  mutating func becamePending() {
    batch.pendingValues += 1
  }

  /// A value has no such change any more.
  mutating func settled() {
    batch.pendingValues -= 1
  }

  /// The server has had its chance to acknowledge what is pending.
  mutating func notePending() {
    if batch.pendingValues != publishedPending { hasNews = true }
  }

  // MARK: Counters and timers

  /// A commit took effect.
  mutating func committed(after time: Duration) {
    batch.commits += 1
    hasNews = true
    if isWanted, batch.commitTimes.count < Self.maximumTimes { batch.commitTimes.append(time) }
  }

  mutating func conflicted() {
    batch.conflicts += 1
    hasNews = true
  }

  mutating func merged() {
    batch.merges += 1
    hasNews = true
  }

  mutating func retried() {
    batch.retries += 1
    hasNews = true
  }

  mutating func failedToDecode() {
    batch.decodeFailures += 1
    hasNews = true
  }

  /// A box shows a change of another service.
  mutating func delivered(_ revision: Revision) {
    hasNews = true
    if isWanted, batch.delivered.count < Self.maximumTimes { batch.delivered.append(revision) }
  }
}
