import Foundation
import Logging
import ServiceLifecycle
import SharedState
import SharedStateRedis
import SharedStateServiceLifecycle
import UnixSignals

/// A service for the tests of graceful shutdowns: `LifecycleService URL MILLISECONDS`, the time for a shutdown.
///
/// It changes several values all the time, until it gets SIGTERM. It reports each number that the server has
/// acknowledged, and each that it has changed last, in lines such as `acknowledged value1 12` and `last value1 13`.
@main
struct LifecycleService {
  static func main() async {
    let arguments = CommandLine.arguments
    guard arguments.count == 3, let milliseconds = Int(arguments[2]) else { exit(2) }
    do {
      var configuration = try RedisConfiguration(url: arguments[1])
      configuration.shutdownTimeout = .milliseconds(milliseconds)
      configuration.operationTimeout = .milliseconds(100)
      try await run(store: RedisStore(configuration))
    } catch {
      try? FileHandle.standardError.write(contentsOf: Data("\(error)\n".utf8))
      exit(3)
    }
  }

  private static func run(store: RedisStore) async throws {
    let server = Load(store)
    let logger = Logger(label: "lifecycle-service")
    let group = ServiceGroup(
      configuration: ServiceGroupConfiguration(
        services: [
          .init(service: store),
          .init(
            service: server,
            successTerminationBehavior: .gracefullyShutdownGroup,
            failureTerminationBehavior: .gracefullyShutdownGroup
          ),
        ],
        gracefulShutdownSignals: [.sigterm],
        logger: logger
      )
    )
    do {
      try await group.run()
    } catch RedisSharedStateError.Code.undelivered {
      exit(1)
    }
  }
}

/// Changes values.
private struct Load: Service {
  private let shares: [String: Shared<Int>]

  init(_ store: RedisStore) {
    let names = (0..<8).map { "value\($0)" }
    shares = Dictionary(
      uniqueKeysWithValues: names.map { ($0, Shared(wrappedValue: 0, .redis($0, store: store))) }
    )
  }

  func run() async throws {
    await withDiscardingTaskGroup { tasks in
      for (name, share) in shares { tasks.addTask { await change(share, name) } }
    }
  }

  private func change(_ share: Shared<Int>, _ name: String) async {
    var number = 0
    while !Task.isShuttingDownGracefully {
      number += 1
      share.withLock { $0 = number }
      if number.isMultiple(of: 4), (try? await share.save()) != nil { report("acknowledged \(name) \(number)") }
      try? await Task.sleep(for: .microseconds(200))
    }
    // Nobody waits for this one.
    share.withLock { $0 = number + 1 }
    report("last \(name) \(number + 1)")
  }

  private func report(_ line: String) {
    try? FileHandle.standardOutput.write(contentsOf: Data("\(line)\n".utf8))
  }
}
