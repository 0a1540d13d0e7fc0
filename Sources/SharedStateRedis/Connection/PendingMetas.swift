/// A request for metas, and for the number of documents, that is not answered yet.
final class PendingMetas {
  let id: UInt64
  let count: Int
  var metas: [Meta?] = []
  var failure: RedisSharedStateError?

  init(id: UInt64, count: Int) {
    self.id = id
    self.count = count
  }
}
