import Foundation
import SharedStateRedisTesting

/// A report of a service, written as one line of JSON.
enum ChaosEvent: Codable, Sendable {
  /// The service has done or seen something.
  case recorded(RedisHistory.Event)
  /// The service has carried out a command, and its boxes hold this.
  case answered([RedisHistory.Rest.Held])
}

extension ChaosEvent {
  func tell() {
    guard let line = try? JSONEncoder().encode(self) else { return }
    // One write, because a pipe does not mix it with another.
    FileHandle.standardOutput.write(line + Data("\n".utf8))
  }
}

extension RedisHistory.Box {
  init(service: Int, name: String) {
    self.init(service: "service \(service)", name: name)
  }
}
