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
  let fits: (Action) -> Bool
  /// The failure when there is no such action.
  let absence: String
  /// The text of the difference when another action arrives.
  let difference: (Action) -> String

  /// One particular action.
  init(_ action: Action) where Action: Equatable {
    self.init(action) { $0 == action }
  }

  /// One particular action, and how it is recognised.
  init(_ action: Action, fits: @escaping (Action) -> Bool) {
    self.fits = fits
    absence = """
      Expected to receive the following action, but didn't: …

      \(String(customDumping: action).indented(by: 2))
      """
    difference = { received in
      let difference =
        diff(action, received, format: .proportional)
        ?? "− \(String(customDumping: action))\n+ \(String(customDumping: received))"
      return "\(difference.indented(by: 4))\n\n(Expected: −, Received: +)"
    }
  }

  /// An action that fits a description.
  /// - Parameter description: Worded to stand after "an action matching".
  init(matching description: String, fits: @escaping (Action) -> Bool) {
    self.fits = fits
    absence = "Expected to receive an action matching \(description), but didn't get one."
    difference = { String(customDumping: $0).indented(by: 2) }
  }
}

/// The name of a case of an action, with the names of the cases inside and without other values.
///
/// ```
/// .path(.element(id:, action: .tapped))
/// ```
func caseName(of action: Any) -> String {
  let mirror = Mirror(reflecting: action)
  switch mirror.displayStyle {
  case .enum:
    guard let child = mirror.children.first else { return ".\(action)" }
    let value = caseName(of: child.value)
    return ".\(child.label ?? "")\(value.isEmpty ? "" : "(\(value))")"
  case .tuple:
    let parts = mirror.children.map { child in
      let value = caseName(of: child.value)
      let label = child.label.flatMap { $0.hasPrefix(".") ? nil : $0 } ?? "_"
      return value.isEmpty ? "\(label):" : label == "_" ? value : "\(label): \(value)"
    }
    return parts.joined(separator: ", ")
  default:
    return ""
  }
}
