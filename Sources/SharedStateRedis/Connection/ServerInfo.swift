/// What a server answers to INFO: lines of names and values.
struct ServerInfo {
  private let text: String

  init(_ text: String) {
    self.text = text
  }

  /// Another one after every restart.
  var runID: String? { field("run_id") }

  /// Which reign of a primary it is.
  var era: Era? { field("master_replid").flatMap { Era(replicationID: $0) } }

  /// How many keys it has thrown away for want of memory.
  var evictions: UInt64? { field("evicted_keys").flatMap { UInt64($0) } }

  /// Its clock, in microseconds since 1970.
  var clock: UInt64? { field("server_time_usec").flatMap { UInt64($0) } }

  private func field(_ name: String) -> String? {
    let lines = text.split(whereSeparator: \.isNewline)
    return lines.first { $0.hasPrefix("\(name):") }.map { String($0.dropFirst(name.count + 1)) }
  }
}
