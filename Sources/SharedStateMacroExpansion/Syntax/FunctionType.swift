/// The type of a closure, such as `@Sendable (_ id: Int) async throws -> User`.
struct FunctionType: Sendable {
  enum Failure: Sendable {
    case never, any, typed
  }

  /// Attributes and specifiers in front of the parameters.
  let prefix: String
  let parameters: [Parameter]
  /// `async throws`, as written.
  let effects: String
  let failure: Failure
  let result: String
}
