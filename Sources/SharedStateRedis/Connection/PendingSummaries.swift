/// A request for summaries that is not answered yet.
final class PendingSummaries {
  let id: UInt64
  let count: Int
  var metas: [Meta?] = []
  /// One for each key; `nil`: it holds another type.
  var lengths: [Int?] = []
  var failure: RedisSharedStateError?

  init(id: UInt64, count: Int) {
    self.id = id
    self.count = count
  }

  /// The answer, once everything else has come.
  func reply(_ listeners: [Int?]) -> RedisReply {
    if let failure { return .failure(failure) }
    return .summaries(
      (0..<count).map { StoredSummary(meta: metas[$0], length: lengths[$0], listeners: listeners[$0]) }
    )
  }
}
