import SharedState

/// A flush, which waits for every change that a service has made so far.
final class SimulatedFlush {
  /// The number of changes that the flush still waits for.
  var left = 0
  /// The values with a change that was given up, as reported to this flush.
  var heard: Set<Name> = []
}
