/// An error that ends the benchmarks.
enum BenchmarkError: Error {
  case noConnection
  case refused(String)
  case notCaptured
  /// The server has no address to connect to.
  case noAddress
  /// openssl has made no certificate.
  case noCertificate
  case observerEnded
  /// The last value has not arrived in the other process: the library is broken.
  case lastValueMissing(expected: Int, seen: Int?)
  /// The server does not have all values.
  case valuesMissing
  /// A checkout cannot be built, or its benchmarks fail.
  case checkoutFailed(String)
  /// The library does not accept Foundation's own coders.
  case codersRefused
}
