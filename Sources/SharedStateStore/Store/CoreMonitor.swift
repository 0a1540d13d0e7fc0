/// Watches a core, and runs its effects.
package protocol CoreMonitor<State, Action>: AnyObject, Sendable {
  associatedtype State: Sendable
  associatedtype Action: Sendable

  /// What effects run on; `nil` for the usual threads.
  var executor: (any TaskExecutor)? { get }

  /// Called in the place of the reducer, with the lock of the core held.
  /// - Parameter reduce: Calls the reducer.
  func reduce(
    _ action: Action,
    into state: inout State,
    isSentByEffect: Bool,
    _ reduce: (inout State, Action) -> Effect<Action>
  ) -> Effect<Action>

  /// Reports what an effect has done wrong.
  /// - Parameter location: Where the effect is written.
  func report(_ message: String, at location: SourceLocation)
}
