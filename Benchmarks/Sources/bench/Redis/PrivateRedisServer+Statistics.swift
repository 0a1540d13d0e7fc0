import Foundation
import SharedStateRedisTesting

extension PrivateRedisServer {
  /// The sum of these fields of INFO.
  func sum(of names: Set<String>, in section: String) throws -> Double {
    let statistics = try command("INFO", section).text ?? ""
    return statistics.split(whereSeparator: \.isNewline).reduce(0) { sum, line in
      let parts = line.split(separator: ":")
      guard parts.count == 2, names.contains(String(parts[0])) else { return sum }
      return sum + (Double(parts[1]) ?? 0)
    }
  }

  /// The processor time of the server since it was started, in seconds.
  func processorSeconds() throws -> Double {
    try sum(of: ["used_cpu_user", "used_cpu_sys"], in: "cpu")
  }

  /// The processor time of the server while the body runs, in seconds.
  func processorSeconds(while body: () async throws -> Void) async throws -> Double {
    let before = try processorSeconds()
    try await body()
    return try processorSeconds() - before
  }
}
