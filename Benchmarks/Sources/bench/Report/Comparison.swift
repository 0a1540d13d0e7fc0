import Foundation

/// Compares two checkouts: runs the benchmarks of both in turns, so that both see the same machine.
struct Comparison {
  let checkouts: [String]
  let arguments: [String]

  private static let pairs = 5

  func run() throws {
    for checkout in checkouts {
      try Self.call(["swift", "build", "-c", "release", "--product", "bench"], in: checkout)
    }
    var order: [String] = []
    var figures: [String: [[Double]]] = [:]
    for _ in 0..<Self.pairs {
      for (index, checkout) in checkouts.enumerated() {
        let output = try Self.call([".build/release/bench", "--figures"] + arguments, in: checkout)
        for line in output.split(separator: "\n") {
          let parts = line.split(separator: "\t")
          guard parts.count == 3, let figure = Double(parts[2]) else { continue }
          let name = "\(parts[0]): \(parts[1])"
          if figures[name] == nil { order.append(name) }
          figures[name, default: [[], []]][index].append(figure)
        }
      }
    }
    print("median of \(Self.pairs) runs\tA\tB\tB / A, median of pairs")
    for name in order {
      guard let both = figures[name], both[0].count == both[1].count, !both[0].isEmpty else {
        print("\(name)\tnot in both")
        continue
      }
      let ratios = zip(both[0], both[1]).map { $1 / $0 }
      print("\(name)\t\(Self.text(median(both[0])))\t\(Self.text(median(both[1])))\t\(Self.text(median(ratios)))")
    }
  }

  private static func text(_ value: Double) -> String { String(format: "%.4g", value) }

  @discardableResult
  private static func call(_ command: [String], in checkout: String) throws -> String {
    let (process, pipe) = (Process(), Pipe())
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = command
    process.currentDirectoryURL = URL(fileURLWithPath: checkout).appending(path: "Benchmarks")
    process.standardOutput = pipe
    process.standardError = FileHandle.nullDevice
    try process.run()
    let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw BenchmarkError.checkoutFailed(checkout) }
    return String(decoding: output, as: UTF8.self)
  }
}
