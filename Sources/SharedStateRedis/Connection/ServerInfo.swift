/// The reply of a server to INFO: lines of names and values.
struct ServerInfo {
  private let text: String

  init(_ text: String) {
    self.text = text
  }

  /// Different after every restart.
  var runID: String? { field("run_id") }

  /// `standalone` or `cluster`. Valkey has another name for it.
  var mode: String? { field("redis_mode") ?? field("server_mode") }

  /// The first number of the version. Servers that descend from Redis report the version that they are compatible with.
  var majorVersion: Int? { field("redis_version").flatMap { Int($0.prefix { $0 != "." }) } }

  /// Whether the server is a primary; `nil` if this section does not say so.
  var isPrimary: Bool? { field("role").map { $0 == "master" } }

  /// The name of the server's history.
  var replicationID: ReplicationID? { field("master_replid").flatMap { ReplicationID($0) } }

  /// The history that the server has left, and where: of a promoted replica, until its replication backlog is discarded.
  var formerHistory: String? {
    guard let former = field("master_replid2"), let offset = field("second_repl_offset") else { return nil }
    return "\(former) \(offset)"
  }

  /// How many bytes this run has received from primaries. Servers before 7.0 do not count them.
  var receivedFromPrimaries: UInt64? { field("total_net_repl_input_bytes").flatMap { UInt64($0) } }

  /// How many keys the server has evicted because memory was short.
  var evictions: UInt64? { field("evicted_keys").flatMap { UInt64($0) } }

  /// How many clients are connected to the server.
  var clients: Int? { field("connected_clients").flatMap { Int($0) } }

  /// Whether the server is loading its data, and refuses nearly every command until then.
  var isLoading: Bool { field("loading") == "1" }

  /// The server's clock, in microseconds since 1970.
  var clock: UInt64? { field("server_time_usec").flatMap { UInt64($0) } }

  /// Searches the bytes, because INFO is long and is read often.
  private func field(_ name: String) -> String? {
    var rest = text.utf8[...]
    while !rest.isEmpty {
      let end = rest.firstIndex { $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") } ?? rest.endIndex
      let line = rest[..<end]
      rest = rest[end...].dropFirst()
      guard line.starts(with: name.utf8), line.dropFirst(name.utf8.count).first == UInt8(ascii: ":") else { continue }
      return String(line.dropFirst(name.utf8.count + 1))
    }
    return nil
  }
}
