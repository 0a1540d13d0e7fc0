import SharedStateRedisTesting

/// Tries every order of events in a small world.
///
/// Orders that lead to the same state are explored together from there, so there are far fewer states than orders.
struct Exploration {
  /// The number of states, and the number of orders of events that lead through them to an end.
  private(set) var states = 0
  private(set) var interleavings = 0.0
  /// The first order that breaks a guarantee.
  private(set) var violation: (text: String, steps: [SmallWorld.Step])?

  /// The number of orders that lead from each state to an end.
  private var known: [Int: Double] = [:]
  private var path: [SmallWorld.Step] = []

  init(of world: SmallWorld) {
    interleavings = explore(world)
    states = known.count
  }

  private mutating func explore(_ world: SmallWorld) -> Double {
    guard violation == nil else { return 0 }
    let fingerprint = world.fingerprint
    if let known = known[fingerprint] { return known }
    var world = world
    var count = 0.0
    if world.steps.isEmpty, !world.judge.violations.isEmpty || !world.wait() {
      if world.judge.violations.isEmpty { world.rest() }
      if let first = world.judge.violations.first { violation = (first.description, path) }
      count = 1
    }
    for step in world.steps {
      var next = world
      next.perform(step)
      path.append(step)
      count += explore(next)
      path.removeLast()
    }
    known[fingerprint] = count
    return count
  }
}

extension Exploration: CustomStringConvertible {
  var description: String { "\(states) states, \(interleavings) orders of events." }
}
