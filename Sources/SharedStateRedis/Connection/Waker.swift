internal import CHiredis
import SharedStateDependencies
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Wakes, from any thread, one thread that waits here, or in `poll` with the waker's descriptor.
///
/// Waking twice before the thread looks is the same as waking once. The descriptor is made only when its thread asks
/// for it, so that the many stores of a test suite that have no socket need none. Until then, a condition is used.
final class Waker: Sendable {
  private let wasWoken = Atomic(false)
  /// An `eventfd`, closed at the end; negative as long as there is none. Only the waiting thread makes it.
  private let event = Atomic<CInt>(-1)
  private let condition = MonotonicCondition()
  /// Wakes a task, where a test's world replaces the threads.
  private let alarm: Alarm?

  init(on schedule: (any Schedule)? = nil) {
    alarm = schedule.map { Alarm(on: $0) }
  }

  deinit {
    let event = event.load(ordering: .relaxed)
    if event >= 0 { close(event) }
  }

  /// Becomes readable after a call of ``wake()``. Only the waiting thread may ask for it.
  /// - Throws: ``RedisSharedStateError/Code/unreachable``: the process has no descriptor left.
  var descriptor: CInt {
    get throws(RedisSharedStateError) {
      let known = event.load(ordering: .relaxed)
      if known >= 0 { return known }
      let made = eventfd(0, CInt(EFD_CLOEXEC | EFD_NONBLOCK))
      guard made >= 0 else { throw .unreachable(reason: SocketTransport.text(of: errno)) }
      event.store(made, ordering: .sequentiallyConsistent)
      // A thread that has woken already may not have seen the descriptor.
      if isWoken { eventfd_write(made, 1) }
      return made
    }
  }

  /// Whether there was a wake-up since the waker was last cleared.
  var isWoken: Bool { wasWoken.load(ordering: .sequentiallyConsistent) }

  func wake() {
    guard !wasWoken.exchange(true, ordering: .sequentiallyConsistent) else { return }
    if let alarm { return alarm.ring() }
    let event = event.load(ordering: .sequentiallyConsistent)
    if event >= 0 {
      eventfd_write(event, 1)
    } else {
      condition.signal()
    }
  }

  /// Keeps the calling thread, which is the one that waits here, from its next wait.
  func skipNextWait() { wasWoken.store(true, ordering: .sequentiallyConsistent) }

  /// Forgets the wake-ups so far. Look for their reasons only afterwards.
  ///
  /// - Returns: Whether there were any.
  @discardableResult
  func clear() -> Bool {
    // A wake-up that is under way may still write to the descriptor. One wait then ends early.
    isWoken && drain()
  }

  private func drain() -> Bool {
    // Emptied before the flag is cleared: a wake-up in between writes nothing, and the caller looks for its reason
    // anyway.
    emptyDescriptor()
    return wasWoken.exchange(false, ordering: .sequentiallyConsistent)
  }

  private func emptyDescriptor() {
    let event = event.load(ordering: .relaxed)
    var count: eventfd_t = 0
    if event >= 0 { eventfd_read(event, &count) }
  }

  /// Blocks until a wake-up or the deadline, then forgets the wake-ups so far.
  func wait(until deadline: Instant) {
    sleep(until: deadline)
    _ = drain()
  }

  private func sleep(until deadline: Instant) {
    let event = event.load(ordering: .relaxed)
    if event >= 0 {
      // An interruption by a signal looks like a wake-up, which does no harm.
      var watched = pollfd(fd: event, events: Int16(POLLIN), revents: 0)
      _ = poll(&watched, 1, deadline.pollTimeout())
    } else {
      condition.wait(until: deadline) { !isWoken }
    }
  }

  /// Blocks until one of the two connections has something to receive, there is a wake-up, or the deadline has passed.
  /// The wake-ups so far are not forgotten.
  ///
  /// - Parameter interests: What the connections wait for; `nil`: there is no connection.
  /// - Returns: Which connections have something to receive.
  /// - Throws: ``RedisSharedStateError/Code/unreachable``, ``RedisSharedStateError/Code/disconnected``: the system
  ///   lacks the resources to wait.
  func wait(
    for interests: PerConnection<Interest?>,
    until deadline: Instant
  ) throws(RedisSharedStateError) -> PerConnection<Bool> {
    var deadline = deadline
    var arrived = PerConnection { _ in false }
    // Both sockets and the waker.
    var watched = (pollfd(), pollfd(), pollfd(fd: -1, events: Int16(POLLIN), revents: 0))
    var hasSocket = false
    (watched.0.fd, watched.1.fd) = (-1, -1)
    for purpose in ConnectionPurpose.allCases {
      switch interests[purpose] {
      case nil: break
      case .arrived: arrived[purpose] = true
      case .wakeUp(let by): deadline = min(deadline, by ?? deadline)
      case .socket(let descriptor, let wanted):
        hasSocket = true
        let socket = pollfd(fd: descriptor, events: wanted.events, revents: 0)
        if purpose == .writer { watched.0 = socket } else { watched.1 = socket }
      }
    }
    let isReady = arrived[.writer] || arrived[.subscriber] || isWoken
    guard hasSocket else {
      if !isReady { sleep(until: deadline) }
      dropLateWrite()
      return arrived
    }
    watched.2.fd = try descriptor
    let count = withUnsafeMutablePointer(to: &watched) {
      $0.withMemoryRebound(to: pollfd.self, capacity: 3) { watched in
        let count = poll(watched, 3, isReady ? 0 : deadline.pollTimeout())
        // A signal ends the wait, but the caller takes the connections for checked.
        return count < 0 && errno == EINTR ? poll(watched, 3, 0) : count
      }
    }
    if count < 0, errno != EINTR { throw .disconnected(reason: SocketTransport.text(of: errno)) }
    guard count > 0 else { return arrived }
    if watched.0.revents != 0 { arrived[.writer] = true }
    if watched.1.revents != 0 { arrived[.subscriber] = true }
    if watched.2.revents != 0 { dropLateWrite() }
    return arrived
  }

  /// Empties the descriptor if a wake-up wrote to it after it was cleared.
  private func dropLateWrite() { if !isWoken { emptyDescriptor() } }

  /// Waits as a task in a test's world; the wake-ups so far are not forgotten.
  func wait(until deadline: Instant) async {
    await alarm?.wait(until: deadline.onSchedule) { isWoken }
  }
}

extension Instant {
  /// The time left in milliseconds, as `poll` requires, rounded up so that a wait never ends early.
  func pollTimeout(now: Instant = .now) -> CInt {
    let left = now.duration(to: self)
    guard left > .zero else { return 0 }
    let (seconds, attoseconds) = left.components
    guard seconds < 86_400 else { return 86_400_000 }
    return CInt(seconds * 1_000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
  }
}
