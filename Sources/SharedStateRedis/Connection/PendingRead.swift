/// A read request whose values are not all known yet: MGET says nil for an absent key and for another type alike.
final class PendingRead {
  let id: UInt64
  let keys: [KeyNames]
  /// The most that each of the replies may be that bring values.
  let bound: ReplyBound
  var values: [StoredValue] = []
  /// How many commands behind the MGET have not been answered.
  var outstanding = 0
  var failure: RedisSharedStateError?
  /// How often a key that was absent turned out to be a string meanwhile.
  private var rereads = 0

  /// A key that comes and goes faster than it can be looked at counts as absent in the end.
  private static let maximumRereads = 64

  init(id: UInt64, keys: [KeyNames], bound: ReplyBound) {
    self.id = id
    self.keys = keys
    self.bound = bound
  }

  /// The answer, once nothing is outstanding.
  var reply: RedisReply? {
    guard outstanding == 0 else { return nil }
    return failure.map { .failure($0) } ?? .values(values)
  }

  func allowsReread() -> Bool {
    rereads += 1
    return rereads <= Self.maximumRereads + keys.count
  }
}
