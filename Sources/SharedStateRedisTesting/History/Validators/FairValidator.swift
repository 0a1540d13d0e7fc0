/// No box loses more often in a row than a reservation allows, even if one reservation has come to nothing: its holder
/// was cut off, or its time has passed.
struct FairValidator: Validator {
  /// Of how many commits one asks for a reservation at most.
  private static let commits = 10
  private static let reservations = 2

  private var losses: [RedisHistory.Box: Int] = [:]

  mutating func observe(_ event: RedisHistory.Event, at position: Int) -> [String] {
    switch event {
    case .committed(let commit):
      if let box = commit.box { losses[box] = nil }
    case .conflicted(let box):
      losses[box, default: 0] += 1
      guard let count = losses[box], count > Self.commits * Self.reservations else { break }
      return ["\(box.service)'s \(box.name) has conflicted \(count) times in a row"]
    // Reservations are gone, or other programs write, who know of none.
    case .lost, .replaced, .forgotten, .refused, .evicted, .expires, .edited, .deleted:
      losses = [:]
    default: break
    }
    return []
  }
}
