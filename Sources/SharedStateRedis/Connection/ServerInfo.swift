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

  /// How many clients are connected to it.
  var clients: Int? { field("connected_clients").flatMap { Int($0) } }

  /// Its clock, in microseconds since 1970.
  var clock: UInt64? { field("server_time_usec").flatMap { UInt64($0) } }

  /// A server that is asked often is answered at length: only the bytes are looked at.
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
