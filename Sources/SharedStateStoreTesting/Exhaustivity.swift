import CustomDump
import SharedStateStore

/// The amount that a test has to assert.
public enum Exhaustivity: Equatable, Sendable {
  /// Every change of the state and every action that an effect sends.
  case on
  /// Only the parts that the test chooses to assert.
  ///
  /// - Parameter showSkippedAssertions: Whether the test reports what it has not asserted.
  case off(showSkippedAssertions: Bool)

  /// Only the parts that the test chooses to assert, without a report about the rest.
  public static var off: Self { .off(showSkippedAssertions: false) }
}

/// An action that a test expects.
struct Expected<Action> {
  /// The wording for a failure, as the object of "to receive".
  let description: String
  /// The action; `nil` when only a description is known.
  let dump: String?
  let fits: (Action) -> Bool
  /// The difference between the expected action and another one.
  let difference: (Action) -> String

  /// One particular action.
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

  /// An action that fits a description.
  init(_ description: String, dump: String? = nil, fits: @escaping (Action) -> Bool) {
    self.description = description
    self.dump = dump
    self.fits = fits
    difference = { received in
      "\(String(customDumping: received).indented(by: 4))\n\n(Expected: \(description))"
    }
  }
}
