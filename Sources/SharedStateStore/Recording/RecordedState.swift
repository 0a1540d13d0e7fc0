import CustomDump

/// A state that a replay has to come to.
enum RecordedState<State: Sendable>: Sendable {
  case value(State)
  /// What identifies the state, where that itself is not known.
  case digest(String)

  /// What identifies the state: the same for the same dump, in any process.
  var digest: String {
    switch self {
    case .value(let state): Self.digest(of: state)
    case .digest(let digest): digest
    }
  }

  static func digest(of state: State) -> String {
    // FNV-1a, for the hash values of the library are others in each process.
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in String(customDumping: state).utf8 { hash = (hash ^ UInt64(byte)) &* 0x0100_0000_01b3 }
    let digits = String(hash, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

  /// How another state differs; `nil` when it does not.
  func difference(from state: State) -> String? {
    switch self {
    case .value(let recorded):
      if let isEqual = areEqual(recorded, state) {
        if isEqual { return nil }
      } else if Self.digest(of: recorded) == Self.digest(of: state) {
        return nil
      }
      let difference = diff(recorded, state) ?? "Both are written in the same way: '==' tells them apart."
      return "\(difference.indented(by: 4))\n\n(Recorded: −, Replayed: +)"
    case .digest(let digest):
      if Self.digest(of: state) == digest { return nil }
      return
        "\(String(customDumping: state).indented(by: 4))\n\n(Replayed; of the recorded state only a digest is known.)"
    }
  }
}

/// Whether two values are equal; `nil` when they cannot tell.
private func areEqual<Value>(_ first: Value, _ second: Value) -> Bool? {
  guard let first = first as? any Equatable else { return nil }
  func isEqual<Comparable: Equatable>(_ first: Comparable) -> Bool { first == second as? Comparable }
  return isEqual(first)
}
