import Foundation
import Synchronization

@testable import Simulation

/// Runs schedules of the simulation until one breaks a guarantee: `soak [--seed N] [--schedules N] [--steps N]`.
///
/// With a seed alone, `soak` repeats its schedule and prints everything that happens. `soak --orders` tries every order
/// of events in the small worlds that take too long for the tests, and `soak --more-orders` in those that take a minute.
@main
enum Soak {
  static func main() {
    var arguments = CommandLine.arguments.dropFirst()
    if Array(arguments) == ["--orders"] { explore(SmallWorld.Scope.more + SmallWorld.Scope.many) }
    if Array(arguments) == ["--more-orders"] { explore(SmallWorld.Scope.more) }
    var options: [String: UInt64] = [:]
    while let name = arguments.popFirst() {
      guard ["--seed", "--schedules", "--steps"].contains(name), let number = arguments.popFirst().flatMap(UInt64.init)
      else {
        print("Usage: soak [--seed N] [--schedules N] [--steps N] | --orders | --more-orders")
        exit(2)
      }
      options[name] = number
    }
    let steps = options["--steps"].map { Int($0) }
    if let seed = options["--seed"], options["--schedules"] == nil {
      repeatSchedule(seed, steps: steps)
    } else {
      run(options["--schedules"] ?? 1_000_000, from: options["--seed"] ?? 1, steps: steps)
    }
  }

  /// Explores as many worlds at once as there are processors.
  private static func explore(_ scopes: [SmallWorld.Scope]) -> Never {
    let waiting = Mutex(scopes[...])
    let running = Atomic(ProcessInfo.processInfo.activeProcessorCount)
    for _ in 0..<running.load(ordering: .relaxed) {
      let thread = Thread {
        while let scope = waiting.withLock({ $0.popFirst() }) { explore(scope) }
        if running.subtract(1, ordering: .relaxed).newValue == 0 { exit(0) }
      }
      // The recursion is as deep as an order of events is long, which needs a large stack.
      thread.stackSize = 64 << 20
      thread.start()
    }
    while true { sleep(60) }
  }

  private static func explore(_ scope: SmallWorld.Scope) {
    guard let world = try? SmallWorld(scope) else { exit(2) }
    let exploration = Exploration(of: world)
    print(scope, exploration)
    fflush(nil)
    guard let (text, steps) = exploration.violation else { return }
    print("\(text), after \(steps)")
    exit(1)
  }

  private static func run(_ count: UInt64, from first: UInt64, steps: Int?) {
    let cores = UInt64(ProcessInfo.processInfo.activeProcessorCount)
    DispatchQueue.concurrentPerform(iterations: Int(cores)) { core in
      var seed = first + UInt64(core)
      while seed < first + count {
        let violations = Simulation(seed: seed).run(steps: steps)
        if !violations.isEmpty { report(violations, of: seed, steps: steps) }
        seed += cores
        guard core == 0, (seed - first) % (50_000 * cores) == 0 else { continue }
        print("\(seed - first) schedules …")
        // Shows the progress at once, even if the output goes to a file.
        fflush(nil)
      }
    }
    print("\(count) schedules, and no guarantee was broken.")
  }

  private static func repeatSchedule(_ seed: UInt64, steps: Int?) {
    let simulation = Simulation(seed: seed)
    simulation.onEvent = { print($0) }
    let violations = simulation.run(steps: steps)
    if !violations.isEmpty { report(violations, of: seed, steps: steps) }
    print("No guarantee was broken.")
  }

  private static func report(_ violations: [String], of seed: UInt64, steps: Int?) -> Never {
    print("The schedule of seed \(seed) breaks a guarantee:")
    for violation in violations { print("  \(violation)") }
    let steps = steps.map { " --steps \($0)" } ?? ""
    print("Repeat it with: make soak-simulation SOAK='--seed \(seed)\(steps)'")
    exit(1)
  }
}
