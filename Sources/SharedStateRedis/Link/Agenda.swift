/// What a link does later for single values: one moment for each value and cause.
struct Agenda: Sendable {
  typealias ReplicaID = LinkState.ReplicaID

  enum Cause: Hashable, Sendable {
    /// A message that proves nothing may hint at a change.
    case hint
    /// A message is of another history than the known one, or is very old.
    case confirmation
    /// The value expires.
    case expiry
    /// The service writes the value all the time, and has checked it a moment ago.
    case ownCheck
    /// The grace period for other services to repair the value is over.
    case grace(Grace)
    /// A request was refused, or proved pointless.
    case retry(LinkState.Retry.Concern)

    static let all = [.hint, .confirmation, .expiry, .ownCheck] + Grace.allCases.map(grace) + retries
    static let retries = LinkState.Retry.Concern.allCases.map(retry)
  }

  struct Item: Hashable, Sendable {
    let id: ReplicaID
    let cause: Cause
  }

  private var moments: [Item: Instant] = [:]
  private var timer = TimerQueue<Item>()
  /// Items whose time begins with the next pass of the link's thread.
  private var requested: [Item: Duration] = [:]

  /// How many entries it takes up.
  var countOfEntries: Int { timer.count + requested.count }

  /// When the next item may be due.
  var next: Instant? { timer.next }

  /// Whether any item with one of these causes is planned.
  func contains(_ causes: [Cause]) -> Bool {
    moments.keys.contains { causes.contains($0.cause) } || requested.keys.contains { causes.contains($0.cause) }
  }

  /// When the item is due; `nil`: it is not planned.
  func moment(of item: Item) -> Instant? { moments.isEmpty ? nil : moments[item] }

  /// Plans an item, which replaces an earlier plan.
  ///
  /// - Returns: Whether it is the next one.
  @discardableResult
  mutating func plan(_ item: Item, at moment: Instant) -> Bool {
    let isNext = next.map { moment < $0 } ?? true
    let before = moments.updateValue(moment, forKey: item)
    // An item that was put off keeps its entry, so that a value that is written all the time has one.
    if before.map({ moment < $0 }) ?? true {
      timer.add(item, at: moment, of: moments.count) { moments[$0] }
    }
    return isNext
  }

  /// Plans an item for this time after the next pass of the link's thread.
  mutating func request(_ item: Item, after pause: Duration) { requested[item] = pause }

  /// Plans the requested items.
  mutating func begin(now: Instant) {
    guard !requested.isEmpty else { return }
    let begun = requested.sorted { ($0.key.id, $0.value) < ($1.key.id, $1.value) }
    requested = [:]
    for (item, pause) in begun { plan(item, at: now + pause) }
  }

  mutating func cancel(_ item: Item) {
    if !moments.isEmpty { moments[item] = nil }
    if !requested.isEmpty { requested[item] = nil }
  }

  /// Cancels everything that is planned for a value.
  mutating func cancelAll(of id: ReplicaID) {
    guard !moments.isEmpty || !requested.isEmpty else { return }
    for cause in Cause.all { cancel(Item(id: id, cause: cause)) }
  }

  /// Takes an item that is due; `nil` if there is none.
  mutating func popDue(now: Instant) -> Item? {
    let item = timer.popDue(now: now) { moments[$0] }
    if let item { moments[item] = nil }
    return item
  }
}
