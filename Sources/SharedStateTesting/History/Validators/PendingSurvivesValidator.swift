/// What the program was told to be saved has reached the server, and at rest so has everything else, unless it was
/// given up.
struct PendingSurvivesValidator: Validator {
  private var watched: Set<String> = []
  private var newest: [History.Box: Int] = [:]
  /// The changes that have reached the server, or were given up.
  private var delivered: [History.Box: Int] = [:]
  private var owned = OwnedFields()

  mutating func observe(_ event: History.Event, at position: Int) -> [String] {
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
    case .saved(let box, let through) where watched.contains(box.name):
      let delivered = delivered[box] ?? 0
      if through > delivered {
        return ["\(box)'s change \(through) was called saved when those through \(delivered) had been delivered"]
      }
    case .rested(let rest):
      return rest.boxes.compactMap { missing(of: $0.box, in: rest) }
    default: break
    }
    return []
  }

  private mutating func deliver(_ through: Int, of box: History.Box) {
    delivered[box] = max(delivered[box] ?? 0, through)
  }

  private func missing(of box: History.Box, in rest: History.Rest) -> String? {
    guard watched.contains(box.name) else {
      return rest.stored[box.name].flatMap { owned.missing(of: box, in: $0, ifSaved: false) }
    }
    let (newest, delivered) = (newest[box] ?? 0, delivered[box] ?? 0)
    return newest > delivered ? "of \(newest) changes of \(box) those through \(delivered) were delivered" : nil
  }
}
