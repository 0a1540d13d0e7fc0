/// A change that was reported to the program as saved has reached the server. At rest every other change has reached it
/// too, unless it was given up. The next flush reports a change that was given up, unless a later change of the same
/// value was saved, or a save has found the value stored.
struct PendingSurvivesValidator: Validator {
  private var watched: Set<String> = []
  private var newest: [RedisHistory.Box: Int] = [:]
  /// The changes that have reached the server, or were given up.
  private var delivered: [RedisHistory.Box: Int] = [:]
  /// The last change of each box that was given up.
  private var givenUp: [RedisHistory.Box: Int] = [:]
  /// The boxes with a change that was given up and that no flush has reported.
  private var unreported: Set<RedisHistory.Box> = []
  private var owned = OwnedFields()

  mutating func observe(_ event: RedisHistory.Event, at position: Int) -> [String] {
    owned.observe(event)
    switch event {
    case .declared(let name, let rules):
      if rules.isWatched { watched.insert(name) }
    case .changed(let box, let number, _):
      newest[box] = number
    case .committed(let commit):
      guard let box = commit.box else { break }
      switch commit.cause {
      case .change(let through), .reset(let through): deliver(through, of: box)
      case .updates, .adoption, .restoration, .merge: break
      }
    case .conceded(let box, let through), .notEncodable(let box, let through):
      deliver(through, of: box)
      if through > givenUp[box] ?? 0 {
        givenUp[box] = through
        unreported.insert(box)
      }
    case .acknowledged(let box, _, _), .stored(let box):
      unreported = unreported.filter { $0.service != box.service || $0.name != box.name }
    case .flushed(let service, let reportsGivenUp):
      let unreported = unreported.filter { $0.service == service }
      self.unreported.subtract(unreported)
      if !reportsGivenUp, let box = unreported.min(by: { $0.name < $1.name }) {
        return ["\(service) has reported everything saved, but change \(givenUp[box] ?? 0) of \(box) was given up"]
      }
    case .saved(let box, let through) where watched.contains(box.name):
      let delivered = delivered[box] ?? 0
      if through > delivered {
        return ["\(box)'s change \(through) was reported saved, but only changes through \(delivered) were delivered"]
      }
    case .rested(let rest):
      return rest.boxes.compactMap { missing(of: $0.box, in: rest) }
    default: break
    }
    return []
  }

  private mutating func deliver(_ through: Int, of box: RedisHistory.Box) {
    delivered[box] = max(delivered[box] ?? 0, through)
  }

  private func missing(of box: RedisHistory.Box, in rest: RedisHistory.Rest) -> String? {
    guard watched.contains(box.name) else {
      return rest.stored[box.name].flatMap { owned.missing(of: box, in: $0, ifSaved: false) }
    }
    let (newest, delivered) = (newest[box] ?? 0, delivered[box] ?? 0)
    return newest > delivered ? "of \(newest) changes of \(box) only those through \(delivered) were delivered" : nil
  }
}
