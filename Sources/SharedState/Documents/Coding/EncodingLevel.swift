/// A value that is being written: a call of `encode(to:)` that has not returned.
struct EncodingLevel {
  /// What has been written of it.
  enum Content { case nothing, single, array, object }

  /// Tells it from all that were at the same depth before.
  let id: Int
  /// Where its text begins.
  let start: Int
  /// What it is in the value around it, when that is not an element's index.
  var key: (any CodingKey)?
  var content = Content.nothing
  /// How many elements or members it has.
  var count = 0
  /// Whether its members are what an enum with a payload writes.
  var isCase = false
  /// Where the hashes of its names begin.
  let firstHash: Int
  /// A bit for each hash, so that most names are known to be new at once.
  var seen: UInt64 = 0
}

/// Where a ``DocumentWriter`` was, to go back to when a value cannot be written.
struct EncodingMark {
  let bytes: Int
  /// How many values are being written, and what there is of the innermost.
  let depth: Int
  let content: EncodingLevel.Content
  let count: Int
  let seen: UInt64
  let isCase: Bool
  let hashes: Int
  let inserts: Int
  let forms: Int
  let merges: Int
}
