import CustomDump
import SharedStateStore

/// What a test has to assert.
public enum Exhaustivity: Equatable, Sendable {
  /// Every change of the state and every action that an effect sends.
  case on
  /// What it wants to.
  ///
  /// - Parameter showSkippedAssertions: Whether it is told of what it has not asserted.
  case off(showSkippedAssertions: Bool)

  /// What it wants to, without a word about the rest.
  public static var off: Self { .off(showSkippedAssertions: false) }
}

/// An action that a test expects.
struct Expected<Action> {
  /// For the failure, as the object of "to receive".
  let description: String
  /// The action; `nil` when it is only described.
  let dump: String?
  let fits: (Action) -> Bool
  /// How another one differs.
  let difference: (Action) -> String

  /// A certain action.
  init(_ action: Action) where Action: Equatable {
    description = "this action"
    dump = String(customDumping: action)
    fits = { $0 == action }
    difference = { received in
      let difference =
        diff(action, received, format: .proportional)
        ?? "− \(String(customDumping: action))\n+ \(String(customDumping: received))"
      return "\(difference.indented(by: 4))\n\n(Expected: −, Received: +)"
    }
  }

  /// One that is described.
  init(_ description: String, dump: String? = nil, fits: @escaping (Action) -> Bool) {
    self.description = description
    self.dump = dump
    self.fits = fits
    difference = { received in
      "\(String(customDumping: received).indented(by: 4))\n\n(Expected: \(description))"
    }
  }
}
