import Foundation
import SharedStateRedis
import SharedStateRedisTesting

// The benchmarks; see README.md. They start themselves as another process with the first commands.
let arguments = Array(CommandLine.arguments.dropFirst())
let options = [
  "--local", "--store", "--documents", "--latency", "--throughput", "--herd", "--fan-out", "--deliveries", "--fleet",
  "--repair", "--snapshot", "--tls", "--quick", "--report", "--figures",
]
switch arguments.first {
case "--observe-library" where arguments.count == 3:
  try await Observer.library(url: arguments[1], name: arguments[2])
case "--observe-floor" where arguments.count == 4:
  try Observer.floor(host: arguments[1], port: Int32(arguments[2]) ?? 0, channel: arguments[3])
case "--update-atomically" where arguments.count == 4:
  try await AtomicUpdatesBenchmark.child(url: arguments[1], name: arguments[2], times: Int(arguments[3]) ?? 0)
case "--compare" where arguments.count >= 3:
  try Comparison(checkouts: Array(arguments[1...2]), arguments: Array(arguments.dropFirst(3))).run()
case _ where Set(arguments).isSubset(of: options):
  let isQuick = arguments.contains("--quick")
  let parts = Set(arguments).subtracting(["--quick", "--report", "--figures"])
  var table = Table()
  var plots: [(file: String, plot: Plot)] = []
  if parts.isEmpty || parts.contains("--store") {
    let store = StoreBenchmarks(isQuick: isQuick)
    table.append("Stores: sending (P is the floor, a locked struct)", store.sending())
    table.append("Stores: what is added (in P)", store.additions())
    table.append("Stores: elements, 10,000 of them (P is the floor)", store.elements())
    table.append("Stores: effects, processor time", await store.effects())
    table.append("Stores: memory", store.memory())
    table.append("Stores: test stores", await store.testStores())
  }
  // These need no server.
  if parts == ["--store"] {
    table.print()
    exit(0)
  }
  let scene = try await Scene()
  if parts.isEmpty || parts.contains("--local") {
    let local = LocalBenchmarks(store: scene.store, isQuick: isQuick)
    table.append("Local, one thread (a = allocations for each)", try await local.accesses())
    table.append("Local, two threads on two values", local.threads())
    table.append("Keys and observers", try await local.keys())
  }
  if parts.isEmpty || parts.contains("--documents") {
    for (heading, rows) in try DocumentBenchmarks(isQuick: isQuick).run() { table.append(heading, rows) }
  }
  if parts.isEmpty || parts.contains("--latency") {
    let latency = LatencyBenchmark(scene: scene, isQuick: isQuick)
    let measured = try await latency.run()
    for (heading, rows) in measured.rows { table.append(heading, rows) }
    plots.append(("latency.svg", measured.plot))
    let pingPong = PingPongBenchmark(scene: scene, isQuick: isQuick)
    table.append("A change and its answer", try await pingPong.run())
  }
  if parts.isEmpty || parts.contains("--throughput") {
    let throughput = ThroughputBenchmark(scene: scene, isQuick: isQuick)
    table.append("10,000 keys", try await throughput.manyKeys())
    table.append("One key", try await throughput.oneKey())
    let (rows, sizes) = try await throughput.sizes()
    table.append("Documents of several sizes, one change of each of many keys", rows)
    let plot = Plot(
      title: "Throughput over the size of the document",
      x: Plot.Axis(label: "bytes", isLogarithmic: true, ticks: [16, 64, 256, 1_024, 4_096, 16_384, 65_536]),
      y: Plot.Axis(label: "commits/s", isLogarithmic: true, ticks: [100, 1_000, 10_000, 100_000]),
      series: [
        Plot.Series(name: "the library", points: sizes.library),
        Plot.Series(name: "bare pipeline, C", points: sizes.floor, isFloor: true),
      ]
    )
    plots.append(("throughput.svg", plot))
    let atomic = AtomicUpdatesBenchmark(scene: scene, isQuick: isQuick)
    table.append("One key, two processes, 64 callers in each", try await atomic.run())
  }
  if parts.isEmpty || parts.contains("--herd") {
    table.append("A server that restarts under many services", try await HerdBenchmark(isQuick: isQuick).run())
  }
  if parts.isEmpty || parts.contains("--fan-out") {
    let fanOut = FanOutBenchmark(isQuick: isQuick)
    table.append("A change, processor time of the server for each service", try await fanOut.run())
  }
  if parts.isEmpty || parts.contains("--deliveries") {
    let deliveries = DeliveriesBenchmark(isQuick: isQuick)
    table.append(
      "1,000 changes of 1 KiB in ten services of this process, for each delivery",
      try await deliveries.run()
    )
  }
  if parts.isEmpty || parts.contains("--fleet") {
    table.append("Fleets on one server", try await FleetBenchmark(isQuick: isQuick).run())
  }
  if parts.isEmpty || parts.contains("--repair") {
    let repair = RepairBenchmark(isQuick: isQuick)
    table.append("100,000 keys, processor time of the server", try await repair.run())
  }
  if parts.isEmpty || parts.contains("--snapshot") {
    table.append("A snapshot of 10,000 values", try await SnapshotBenchmark(isQuick: isQuick).run())
  }
  if parts.isEmpty || parts.contains("--tls") {
    table.append("What TLS adds", try await TLSBenchmark(isQuick: isQuick).run())
  }
  if arguments.contains("--figures") {
    table.printFigures()
  } else {
    table.print()
  }
  if arguments.contains("--report") {
    let version = try scene.server.command("INFO", "server").text?.split(separator: "\r\n")
      .first { $0.hasPrefix("redis_version:") }?.split(separator: ":").last
    try Report(table: table, plots: plots, server: version.map(String.init) ?? "unknown").write()
  }
  await scene.store.shutdown(within: .seconds(5))
default:
  print("usage: bench \(options.map { "[\($0)]" }.joined(separator: " "))")
  print("       bench --compare CHECKOUT CHECKOUT [the options of each run]")
  exit(2)
}
