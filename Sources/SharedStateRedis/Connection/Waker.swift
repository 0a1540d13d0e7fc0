import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Wakes one thread that waits here, or in `poll` with the waker's descriptor, from any thread.
///
/// Waking twice before the thread looks is the same as waking once. The descriptor is made only when somebody asks for
/// it, so that the many stores of a test suite that have no socket need none.
package final class Waker: @unchecked Sendable {
  // `@unchecked Sendable` is right because both properties are only touched with `condition` locked.

  private let condition = NSCondition()
  private var isWoken = false
  private var ends: (read: CInt, write: CInt)?

  package init() {}

  deinit {
    guard let ends else { return }
    close(ends.read)
    close(ends.write)
  }

  /// Becomes readable when somebody calls ``wake()``.
  package var descriptor: CInt {
    condition.lock()
    defer { condition.unlock() }
    if let ends { return ends.read }
    let made = Self.makeEnds()
    ends = made
    if isWoken { Self.signal(made.write) }
    return made.read
  }

  package func wake() {
    condition.lock()
    let isFirst = !isWoken
    isWoken = true
    condition.signal()
    let writeEnd = ends?.write
    condition.unlock()
    if isFirst, let writeEnd { Self.signal(writeEnd) }
  }

  /// Forgets the wake-ups so far.
  package func clear() {
    condition.lock()
    isWoken = false
    let readEnd = ends?.read
    condition.unlock()
    if let readEnd { Self.drain(readEnd) }
  }

  /// Blocks until somebody wakes, or the deadline passes; then forgets the wake-ups so far.
  package func wait(until deadline: ContinuousClock.Instant) {
    let date = Date(timeIntervalSinceNow: ContinuousClock.now.duration(to: deadline) / .seconds(1))
    condition.lock()
    while !isWoken, condition.wait(until: date) {}
    condition.unlock()
    clear()
  }

  private static func makeEnds() -> (read: CInt, write: CInt) {
    // A socket pair rather than a pipe: it is made non-blocking and closed on exec in one step.
    var ends: [CInt] = [-1, -1]
    let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    let result = socketpair(AF_UNIX, type, 0, &ends)
    precondition(result == 0, "No socket pair: the process has run out of file descriptors. Raise `ulimit -n`.")
    return (ends[0], ends[1])
  }

  private static func signal(_ writeEnd: CInt) {
    var byte: UInt8 = 0
    // A full buffer is as good as a written byte: the thread has not looked yet.
    _ = send(writeEnd, &byte, 1, CInt(MSG_NOSIGNAL))
  }

  private static func drain(_ readEnd: CInt) {
    withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { buffer in
      while read(readEnd, buffer.baseAddress, buffer.count) == buffer.count {}
    }
  }
}

extension ContinuousClock.Instant {
  /// The time left, as `poll` wants it: milliseconds, rounded up so that a wait never ends early.
  package func pollTimeout(now: ContinuousClock.Instant = .now) -> CInt {
    let left = now.duration(to: self)
    guard left > .zero else { return 0 }
    let (seconds, attoseconds) = left.components
    guard seconds < 86_400 else { return 86_400_000 }
    return CInt(seconds * 1_000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
  }
}
