/// A change that no assertion was about.
package struct UnassertedChange: Sendable {
  /// The text of the failure.
  package let message: String

  /// Where the value was changed first; `nil` when the change came from elsewhere.
  package let location: ChangeLocation?
}
