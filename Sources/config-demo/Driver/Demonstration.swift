import Foundation

/// Three services share one config, and lose their server for a while.
struct Demonstration {
  private let services: [Participant]
  /// The server, when it is the demonstration's own.
  private let server: (any DemoServer)?
  private var narrator = Narrator()

  private static let names = ["checkout", "catalog", "gateway"]

  private init(services: [Participant], server: (any DemoServer)?) {
    self.services = services
    self.server = server
  }

  private var checkout: Participant { services[0] }
  private var catalog: Participant { services[1] }
  private var gateway: Participant { services[2] }

  /// Runs on the Redis at `REDIS_URL`; without one on a private redis-server; without that on the fake.
  ///
  /// - Throws: When the services do not agree in the end, or do not get there in time.
  static func run() async throws {
    let url = ProcessInfo.processInfo.environment["REDIS_URL"] ?? ""
    if !url.isEmpty {
      try await run(on: nil, services: names.map { Participant(name: $0, url: url, log: .standardError) })
    } else if await ChildProcess.isInstalled("redis-server") {
      try await run(on: PrivateServer())
    } else {
      try await run(on: FakeServer())
    }
  }

  private static func run(on server: any DemoServer) async throws {
    do {
      var services: [Participant] = []
      for name in names { services.append(try await server.addService(name)) }
      try await run(on: server, services: services)
    } catch {
      FileHandle.standardError.writeLine(server.log)
      try? await server.end()
      throw error
    }
    try await server.end()
  }

  private static func run(on server: (any DemoServer)?, services: [Participant]) async throws {
    var demonstration = Demonstration(services: services, server: server)
    do {
      try await demonstration.narrate()
    } catch {
      // A service that hangs would outlive this process.
      for service in services { try? await service.end() }
      throw error
    }
    for service in services { try await service.end() }
    demonstration.narrator.summarise()
  }
}

// MARK: The story

extension Demonstration {
  private mutating func narrate() async throws {
    narrator.title("Three services, one config")
    var config = try await meet()
    try await change(&config)
    if let server {
      try await useTools(on: server, &config)
      try await takeAway(server, &config)
    }
    try await compare(with: config)
  }

  private mutating func meet() async throws -> ShopConfig {
    narrator.step("Three services start on \(server?.title ?? "the Redis at REDIS_URL").")
    for service in services { narrator.quote(service, try await service.says("is connected")) }
    var config: ShopConfig?
    for service in services {
      let answer = try await service.answer(to: "load", startingWith: "has loaded")
      narrator.quote(service, answer)
      config = ShopConfig(words: answer)
    }
    narrator.remark("Until Redis has a config, the services use the one in \(ConfigDemo.configFile).")
    guard let config else { throw DemoError("\(gateway.name) does not say which config it has loaded.") }
    return config
  }

  private mutating func change(_ config: inout ShopConfig) async throws {
    narrator.step("checkout changes it. The others follow.")
    config.maximumItems += 10
    checkout.send("items \(config.maximumItems)")
    try await everyoneSees(config)

    narrator.step("gateway changes it, then catalog.")
    config.banner = "Free delivery over \(config.maximumItems) items"
    gateway.send("banner \(config.banner)")
    try await everyoneSees(config)
    config.maximumItems += 10
    catalog.send("items \(config.maximumItems)")
    try await everyoneSees(config)
  }

  private mutating func useTools(on server: any DemoServer, _ config: inout ShopConfig) async throws {
    narrator.step("Any tool can read it: it is a JSON document under a plain key.")
    narrator.command("\(server.tool) GET demo:config")
    narrator.output(try await server.get())

    narrator.step("Any tool can write it, and the services see it. Here they load, to say so immediately.")
    config.maximumItems += 1
    config.banner = "Edited by hand"
    let document = #"{"maximumItems":\#(config.maximumItems),"banner":"\#(config.banner)"}"#
    narrator.command("\(server.tool) SET demo:config '\(document)'")
    try await server.set(document)
    for service in services {
      narrator.quote(service, try await service.answer(to: "load", startingWith: "has loaded \(config)"))
    }
    narrator.remark("Such an edit is seen without loading as well, within about 40 milliseconds.")
  }

  private mutating func takeAway(_ server: any DemoServer, _ config: inout ShopConfig) async throws {
    narrator.step("The server stops. The services keep reading and changing.")
    try await server.stop()
    for service in services { narrator.quote(service, try await service.says("has lost Redis")) }
    var (ofCheckout, ofGateway) = (config, config)
    ofCheckout.maximumItems += 10
    ofGateway.banner = "Back soon"
    checkout.send("items \(ofCheckout.maximumItems)")
    gateway.send("banner \(ofGateway.banner)")
    narrator.quote(checkout, try await checkout.sees(ofCheckout))
    narrator.quote(gateway, try await gateway.sees(ofGateway))
    narrator.quote(catalog, try await catalog.answer(to: "show", startingWith: "has \(config)"))

    narrator.step("The server starts again. Changes made meanwhile are delivered.")
    try await server.start()
    for service in services { narrator.quote(service, try await service.says("is connected")) }
    for service in [checkout, gateway] {
      narrator.quote(service, try await service.answer(to: "flush", startingWith: "has delivered"))
    }
    config = try ShopConfig(document: try await server.get())
    for service in services {
      let words = try await service.sees(config)
      // The service that made the change has already reported it, while the server was down.
      if service.name != config.lastChange?.service { narrator.quote(service, words) }
    }
    narrator.remark("Two changes at the same time are merged field by field.")
  }

  /// Fails unless all services, and the server, have the same config.
  private mutating func compare(with config: ShopConfig) async throws {
    narrator.step("Do they agree?")
    var configs: [ShopConfig?] = [config]
    for service in services {
      let answer = try await service.answer(to: "show", startingWith: "has")
      narrator.quote(service, answer)
      configs.append(ShopConfig(words: answer))
    }
    if let server {
      let stored = try ShopConfig(document: try await server.get())
      narrator.quote("Redis", "has \(stored)")
      configs.append(stored)
    }
    guard configs.allSatisfy({ $0?.description == config.description }) else { throw DemoError("They do not agree.") }
  }

  private mutating func everyoneSees(_ config: ShopConfig) async throws {
    for service in services { narrator.sighting(service, try await service.sees(config)) }
  }
}
