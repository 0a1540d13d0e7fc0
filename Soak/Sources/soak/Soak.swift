import Foundation
import Synchronization

@testable import Simulation

/// Runs schedules of the simulation until one breaks a guarantee: `soak [--seed N] [--schedules N] [--steps N]`.
///
/// A seed alone is repeated, and everything that happens is told.
@main
enum Soak {
  static func main() {
    var arguments = CommandLine.arguments.dropFirst()
    var options: [String: UInt64] = [:]
    while let name = arguments.popFirst() {
      guard ["--seed", "--schedules", "--steps", "--survey"].contains(name),
        let number = arguments.popFirst().flatMap(UInt64.init)
      else {
        print("Usage: soak [--seed N] [--schedules N] [--steps N]")
        exit(2)
      }
      options[name] = number
    }
    let steps = options["--steps"].map { Int($0) }
    if let seed = options["--seed"], options["--schedules"] == nil { return repeatSchedule(seed, steps: steps) }
    let (first, count) = (options["--seed"] ?? 1, options["--schedules"] ?? 1_000_000)
    let cores = UInt64(ProcessInfo.processInfo.activeProcessorCount)
    let isSurvey = options["--survey"] != nil
    let found = Mutex<[String: (Int, UInt64, String)]>([:])
    DispatchQueue.concurrentPerform(iterations: Int(cores)) { core in
      var seed = first + UInt64(core)
      while seed < first + count {
        let violations = Simulation(seed: seed).run(steps: steps)
        if isSurvey, let violation = violations.first {
          found.withLock { found in
            let kind = String(violation.drop { !$0.isUppercase }.prefix { $0 != ":" })
            found[kind] =
              (found[kind]?.0 ?? 0) + 1 == 1
              ? (1, seed, violation) : (found[kind]!.0 + 1, found[kind]!.1, found[kind]!.2)
          }
        } else if !violations.isEmpty {
          report(violations, of: seed)
        }
        seed += cores
        if core == 0, (seed - first) % (10_000 * cores) == 0 { print("\(seed - first) schedules") }
      }
    }
    for (kind, entry) in found.withLock({ $0 }) { print(kind, entry) }
    print("\(count) schedules.")
  }

  private static func repeatSchedule(_ seed: UInt64, steps: Int?) {
    let simulation = Simulation(seed: seed)
    simulation.onEvent = { print($0) }
    let violations = simulation.run(steps: steps)
    if !violations.isEmpty { report(violations, of: seed) }
    print("No guarantee was broken.")
  }

  private static func report(_ violations: [String], of seed: UInt64) {
    print("The schedule of seed \(seed) breaks a guarantee:")
    for violation in violations { print("  \(violation)") }
    print("Repeat it with: make soak SOAK='--seed \(seed)'")
    exit(1)
  }
}
