import Synchronization

import OpenCombine

/// A scheduler whose time passes only when the test advances it.
final class ManualScheduler: Scheduler, Sendable {
  /// A number of milliseconds since the beginning.
  struct SchedulerTimeType: Strideable, Sendable {
    var milliseconds = 0

    func distance(to other: Self) -> Stride { Stride(milliseconds: other.milliseconds - milliseconds) }
    func advanced(by stride: Stride) -> Self { Self(milliseconds: milliseconds + stride.milliseconds) }

    struct Stride: SchedulerTimeIntervalConvertible, Comparable, SignedNumeric, Sendable {
      var milliseconds: Int
      var magnitude: UInt { milliseconds.magnitude }

      init(milliseconds: Int) { self.milliseconds = milliseconds }
      init(integerLiteral value: Int) { milliseconds = value * 1_000 }
      init?(exactly source: some BinaryInteger) {
        guard let value = Int(exactly: source) else { return nil }
        milliseconds = value
      }

      static func seconds(_ seconds: Int) -> Self { Self(milliseconds: seconds * 1_000) }
      static func seconds(_ seconds: Double) -> Self { Self(milliseconds: Int(seconds * 1_000)) }
      static func milliseconds(_ milliseconds: Int) -> Self { Self(milliseconds: milliseconds) }
      static func microseconds(_ microseconds: Int) -> Self { Self(milliseconds: microseconds / 1_000) }
      static func nanoseconds(_ nanoseconds: Int) -> Self { Self(milliseconds: nanoseconds / 1_000_000) }

      static func < (lhs: Self, rhs: Self) -> Bool { lhs.milliseconds < rhs.milliseconds }
      static func + (lhs: Self, rhs: Self) -> Self { Self(milliseconds: lhs.milliseconds + rhs.milliseconds) }
      static func - (lhs: Self, rhs: Self) -> Self { Self(milliseconds: lhs.milliseconds - rhs.milliseconds) }
      static func * (lhs: Self, rhs: Self) -> Self { Self(milliseconds: lhs.milliseconds * rhs.milliseconds) }
      static func *= (lhs: inout Self, rhs: Self) { lhs = lhs * rhs }
    }
  }

  typealias SchedulerOptions = Never

  private struct Item {
    let time: SchedulerTimeType
    let action: @Sendable () -> Void
  }

  private struct State {
    var now = SchedulerTimeType()
    var items: [Item] = []
  }

  private let state = Mutex(State())

  var now: SchedulerTimeType { state.withLock { $0.now } }
  var minimumTolerance: SchedulerTimeType.Stride { .milliseconds(0) }

  /// The number of closures that wait for their time.
  var waitingCount: Int { state.withLock { $0.items.count } }

  /// Lets time pass, and calls the closures that are due, in the order of their times.
  func advance(by stride: SchedulerTimeType.Stride) {
    let due = state.withLock { state in
      state.now = state.now.advanced(by: stride)
      let (due, later) = (state.items.filter { $0.time <= state.now }, state.items.filter { $0.time > state.now })
      state.items = later
      return due.sorted { $0.time < $1.time }
    }
    for item in due { item.action() }
  }

  private struct Handed: @unchecked Sendable {
    // `@unchecked Sendable` is right because a scheduler may run its closures on any thread.
    let action: () -> Void
  }

  private func add(_ time: SchedulerTimeType, _ action: @escaping () -> Void) {
    let handed = Handed(action: action)
    state.withLock { $0.items.append(Item(time: time) { handed.action() }) }
  }

  func schedule(options: SchedulerOptions?, _ action: @escaping () -> Void) { action() }

  func schedule(
    after date: SchedulerTimeType,
    tolerance: SchedulerTimeType.Stride,
    options: SchedulerOptions?,
    _ action: @escaping () -> Void
  ) {
    add(date, action)
  }

  func schedule(
    after date: SchedulerTimeType,
    interval: SchedulerTimeType.Stride,
    tolerance: SchedulerTimeType.Stride,
    options: SchedulerOptions?,
    _ action: @escaping () -> Void
  ) -> any Cancellable {
    preconditionFailure("No test repeats anything.")
  }
}
