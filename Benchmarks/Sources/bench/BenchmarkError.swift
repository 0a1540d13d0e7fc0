/// What keeps the benchmarks from going on.
enum BenchmarkError: Error {
  case noConnection
  case refused(String)
  case notCaptured
  case observerEnded
  /// The last value has not arrived in the other process: the library is broken.
  case lastValueMissing(expected: Int, seen: Int?)
  /// The server has not kept what it was to keep.
  case valuesMissing
  /// The library does not take coders of Foundation itself.
  case codersRefused
}
