/// At rest every box equals the stored value in the fields that it knows.
struct ConvergesValidator: Validator {
  private var defaults: [RedisHistory.Box: RedisHistory.Document] = [:]

  mutating func observe(_ event: RedisHistory.Event, at position: Int) -> [String] {
    switch event {
    case .opened(let box, let initial, _):
      defaults[box] = initial
    case .rested(let rest):
      return rest.boxes.compactMap { held in rest.stored[held.box.name].flatMap { difference(of: held, from: $0) } }
    default: break
    }
    return []
  }

  private func difference(of held: RedisHistory.Rest.Held, from stored: RedisHistory.Stored) -> String? {
    // A box keeps the last good value while the stored one cannot be read.
    if case .unreadable = stored.content { return nil }
    let initial = defaults[held.box] ?? RedisHistory.Document()
    return held.document.shows(stored.document ?? initial, default: initial)
      ? nil : "\(held.box) shows \(held.document), but \(stored) is stored"
  }
}
