/// The waiters whose outcome is certain. They are resumed once the box shows it.
struct Outcomes: Sendable {
  /// The waiters whose change is stored.
  private(set) var finished: [UInt64] = []
  /// The waiters whose changes have yielded to a remote change.
  private var yielded: [(waiters: [UInt64], error: RedisSharedStateError)] = []

  mutating func finish(_ waiters: [UInt64]) {
    finished += waiters
  }

  mutating func yield(_ outcomes: [(waiters: [UInt64], error: RedisSharedStateError)]) {
    yielded += outcomes
  }

  /// Removes and returns all waiters, each group with its error.
  mutating func takeAll() -> [(waiters: [UInt64], error: RedisSharedStateError?)] {
    defer { (finished, yielded) = ([], []) }
    return [(finished, nil)] + yielded.map { ($0.waiters, $0.error) }
  }
}
