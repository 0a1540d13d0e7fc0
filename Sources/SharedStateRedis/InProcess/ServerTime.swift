import Glibc
import SharedStateDependencies

/// A moment on the in-process server's clock.
struct ServerTime: Hashable, Sendable {
  /// Since 1970.
  var microseconds: Int64

  var milliseconds: Int64 { microseconds / 1_000 }

  /// The time of this machine, or of a test's world.
  static var system: ServerTime {
    if let schedule = Schedules.current {
      return ServerTime(microseconds: 1_000_000_000_000_000 + schedule.now.wholeMicroseconds)
    }
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return ServerTime(microseconds: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000)
  }
}

extension Duration {
  /// Rounded towards zero, and limited to what 64 bits hold.
  var wholeMicroseconds: Int64 {
    let (seconds, attoseconds) = components
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
    guard !overflow else { return seconds < 0 ? .min : .max }
    return product.addingReportingOverflow(attoseconds / 1_000_000_000_000).partialValue
  }
}
