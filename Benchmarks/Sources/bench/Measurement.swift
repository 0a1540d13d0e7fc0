import CBench
import Glibc

/// The monotonic clock, which all processes of a machine share, in nanoseconds.
@inline(__always)
func monotonicNanoseconds() -> UInt64 {
  nanoseconds(of: CLOCK_MONOTONIC)
}

@inline(__always)
private func nanoseconds(of clock: clockid_t) -> UInt64 {
  var time = timespec()
  clock_gettime(clock, &time)
  return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// The processor time of the calling thread, in nanoseconds.
func threadNanoseconds() -> UInt64 {
  nanoseconds(of: CLOCK_THREAD_CPUTIME_ID)
}

/// The processor time of all threads of the process, in nanoseconds.
func processNanoseconds() -> UInt64 {
  nanoseconds(of: CLOCK_PROCESS_CPUTIME_ID)
}

/// The cost of one operation.
struct Cost {
  var nanoseconds: Double
  /// Without the time in which other threads had the processor.
  var processorNanoseconds: Double
  /// On the calling thread.
  var allocations: Double
}

/// Measures an operation and its floor in turns, so that both see the same machine, and returns the medians.
///
/// Inlined into the caller, so that the operations are specialised there as they are in a program.
@inline(__always)
func compare(
  rounds: Int,
  operations: Int,
  floor: () -> Void,
  _ operation: () -> Void
) -> (cost: Cost, floor: Cost) {
  var costs: [Cost] = []
  var floors: [Cost] = []
  // The first round warms up.
  for round in 0...rounds {
    let floorCost = measure(operations, floor)
    let cost = measure(operations, operation)
    guard round > 0 else { continue }
    floors.append(floorCost)
    costs.append(cost)
  }
  return (median(costs), median(floors))
}

@inline(__always)
func measure(_ operations: Int, _ operation: () -> Void) -> Cost {
  let allocations = bench_allocations()
  let processorStart = threadNanoseconds()
  let start = monotonicNanoseconds()
  for _ in 0..<operations { operation() }
  let elapsed = monotonicNanoseconds() - start
  let processorElapsed = threadNanoseconds() - processorStart
  return Cost(
    nanoseconds: Double(elapsed) / Double(operations),
    processorNanoseconds: Double(processorElapsed) / Double(operations),
    allocations: Double(bench_allocations() - allocations) / Double(operations)
  )
}

func median(_ costs: [Cost]) -> Cost {
  costs.sorted { $0.nanoseconds < $1.nanoseconds }[costs.count / 2]
}

func median(_ values: [Double]) -> Double {
  values.sorted()[values.count / 2]
}

/// Keeps a result from being optimised away.
@inline(never)
@_optimize(none)
func consume(_ value: Int) {}

/// Latencies in nanoseconds.
struct Samples {
  private var values: [UInt64] = []

  var count: Int { values.count }

  mutating func append(_ value: UInt64) {
    values.append(value)
  }

  mutating func append(_ others: Samples) {
    values += others.values
  }

  /// The part of the samples, in percent, that is at most as large as each of 200 of them, in microseconds.
  var distribution: [(x: Double, y: Double)] {
    let sorted = values.sorted()
    guard !sorted.isEmpty else { return [] }
    return (0...200).map { step in
      let index = min(sorted.count - 1, sorted.count * step / 200)
      return (Double(sorted[index]) / 1_000, Double(step) / 2)
    }
  }

  /// In microseconds; `nil` when there are no samples.
  func percentile(_ percent: Int) -> Double? {
    guard !values.isEmpty else { return nil }
    return Double(values.sorted()[min(values.count - 1, values.count * percent / 100)]) / 1_000
  }
}

/// Makes pauses of about a millisecond, long enough for all threads to go to sleep. Every measurement gets the same
/// series.
struct Pacer {
  private var state: UInt64 = 0x9E37_79B9_7F4A_7C15

  mutating func pause() {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    var time = timespec(tv_sec: 0, tv_nsec: Int(800_000 + state % 400_000))
    nanosleep(&time, nil)
  }
}
