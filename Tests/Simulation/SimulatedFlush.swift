import SharedState

/// Somebody waits for every change that a service has made so far.
final class SimulatedFlush {
  /// How many changes are waited for.
  var left = 0
  /// The values of which it was told itself that a change was given up.
  var heard: Set<Name> = []
}
