import Foundation
import Logging
import SharedStateRedis

/// The fake inside this process, for machines without Redis: a store for each service, all on one server.
struct FakeServer: DemoServer {
  private let server = InProcessRedis()

  var title: String { "the fake inside this process" }
  var tool: String { "InProcessRedis" }

  func start() {
    server.perform { $0.faults.connectionError = nil }
  }

  func stop() {
    server.perform { server in
      server.faults.connectionError = .unreachable(reason: "the server is stopped")
      server.cut("the server is stopped") { _ in true }
    }
  }

  func addService(_ name: String) throws -> Participant {
    var configuration = RedisConfiguration.inProcess
    configuration.label = name
    let logger = Logger(label: name) { _ in SwiftLogNoOpLogHandler() }
    return try Participant(
      name: name,
      store: .inProcess(server, configuration: configuration, logger: logger)
    )
  }

  func get() throws -> String {
    guard let document = server.get("demo:config") else { throw DemoError("Nothing is stored under demo:config.") }
    return document
  }

  func set(_ document: String) {
    server.set("demo:config", document)
  }

  var log: String { "" }

  func end() {}
}
