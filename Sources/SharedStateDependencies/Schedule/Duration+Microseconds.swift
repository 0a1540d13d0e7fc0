extension Duration {
  /// Rounded towards zero, and clamped to 64 bits.
  package var wholeMicroseconds: Int64 {
    let (seconds, attoseconds) = components
    let (product, isTooLong) = seconds.multipliedReportingOverflow(by: 1_000_000)
    let (sum, isSumTooLong) = product.addingReportingOverflow(attoseconds / 1_000_000_000_000)
    guard isTooLong || isSumTooLong else { return sum }
    return seconds < 0 ? .min : .max
  }
}
