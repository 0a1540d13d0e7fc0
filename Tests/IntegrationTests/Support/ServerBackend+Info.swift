import SharedStateRedisTesting

extension ServerBackend {
  /// The number of keys that the server has evicted.
  var evictions: Int {
    get throws { try number("evicted_keys", in: "stats") }
  }

  /// How many connections the server has accepted.
  var connections: Int {
    get throws { try number("total_connections_received", in: "stats") }
  }

  /// The peak of the server's memory, in bytes.
  var peak: Int {
    get throws { try number("used_memory_peak", in: "memory") }
  }

  /// The server's memory, in bytes.
  var used: Int {
    get throws { try number("used_memory", in: "memory") }
  }

  /// How many commands the server has run.
  var commands: Int {
    get throws { try number("total_commands_processed", in: "stats") }
  }

  /// How many pings the server has answered with an error.
  var refusedPings: Int {
    get throws {
      let info = try server.command("INFO", "commandstats").text ?? ""
      let line = info.split(whereSeparator: \.isNewline).first { $0.hasPrefix("cmdstat_ping:") }
      let field = line?.split(separator: ",").first { $0.hasPrefix("rejected_calls=") }
      return field.flatMap { Int($0.dropFirst("rejected_calls=".count)) } ?? 0
    }
  }

  private func number(_ field: String, in section: String) throws -> Int {
    let info = try server.command("INFO", section).text ?? ""
    let line = info.split(whereSeparator: \.isNewline).first { $0.hasPrefix("\(field):") }
    return line.flatMap { Int($0.dropFirst(field.count + 1)) } ?? 0
  }
}
