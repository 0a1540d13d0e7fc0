import SharedState
import SharedStateDependencies

/// A state that a replay has to come to.
enum RecordedState<State: Sendable>: Sendable {
  case value(State)
  /// What identifies the state, where that itself is not known.
  case digest(String)

  /// What identifies the state: the same for the same lines, in any process.
  var digest: String {
    switch self {
    case .value(let state): Self.digest(of: state)
    case .digest(let digest): digest
    }
  }

  static func digest(of state: State) -> String {
    let digits = String(FNV1a.hash(of: ValueLines.text(of: state)), radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

  /// How another state differs; `nil` when it does not.
  func difference(from state: State) -> String? {
    switch self {
    case .value(let recorded):
      if let isEqual = Equality.areEqual(recorded, state) {
        if isEqual { return nil }
      } else if Self.digest(of: recorded) == Self.digest(of: state) {
        return nil
      }
      let difference = Difference.between(recorded, state) ?? "Both are written in the same way: '==' tells them apart."
      return "\(difference.indented(by: 4))\n\n(Recorded: −, Replayed: +)"
    case .digest(let digest):
      if Self.digest(of: state) == digest { return nil }
      return
        "\(Difference.dump(state).indented(by: 4))\n\n(Replayed; of the recorded state only a digest is known.)"
    }
  }
}
