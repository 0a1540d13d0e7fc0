import Foundation

/// The name of this machine, as a store writes it beside a value.
enum HostName {
  static let current: String = {
    var buffer = [CChar](repeating: 0, count: 256)
    guard gethostname(&buffer, buffer.count - 1) == 0 else { return "unknown" }
    let name = buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    return RedisName.label(String(decoding: name, as: UTF8.self))
  }()
}
