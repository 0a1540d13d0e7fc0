import Foundation
import SharedStateTesting

/// What a service tells, as one line of JSON.
enum ChaosEvent: Codable, Sendable {
  /// It has done or seen something.
  case recorded(History.Event)
  /// A value goes back from a revision that a message has told, because Redis does not have it.
  case withdrew(History.Box, from: UInt64)
  /// A command was carried out, and its boxes have this.
  case answered([History.Rest.Held])
}

extension ChaosEvent {
  func tell() {
    guard let line = try? JSONEncoder().encode(self) else { return }
    // In one piece, which a pipe never mixes with another.
    FileHandle.standardOutput.write(line + Data("\n".utf8))
  }
}

extension History.Box {
  init(service: Int, name: String) {
    self.init(service: "service \(service)", name: name)
  }
}
