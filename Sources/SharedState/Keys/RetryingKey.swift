/// A key whose saves may succeed later without a change here, as when a disk was full.
protocol RetryingKey: SharedKey {
  /// Whether a value that could not be saved, for this reason, is to be saved again after a while.
  func isWorthRetrying(_ error: any Error) -> Bool
}
