extension RedisConfiguration.Backoff {
  /// How long to wait before the next attempt: exponential, capped, with full jitter, and from the start as long as a
  /// fleet of this size needs.
  ///
  /// The wait is a random part of the cap for the attempt, so that many services that lost the same server do not come
  /// back at the same moment. Source: "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
  /// - Parameters:
  ///   - fleet: How long the server needs for all of its clients, as it has shown.
  ///   - failures: How many attempts in a row have failed, at least 1.
  ///   - isPermanent: Whether somebody has to change something first, so that there is no hurry.
  ///   - random: From 0 up to, not including, 1.
  package func delay(failures: Int, isPermanent: Bool, fleet: Duration = .zero, random: Double) -> Duration {
    // Half the cap at the least, so that a permanent error is never retried in a hurry.
    if isPermanent { return cap * (0.5 + random / 2) }
    let doublings = min(max(failures - 1, 0), 30)
    return min(cap, max(fleet, base * (1 << doublings))) * random
  }
}
