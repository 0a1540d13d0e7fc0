import Foundation
import SharedState
import SharedStateRedis
import Subprocess

/// The place where the value is stored.
enum Strategy: String {
  case inMemory, appStorage, fileStorage, redis

  /// Returns a share of the value.
  ///
  /// - Parameter place: A folder, or the URL of a server.
  func share(at place: String) throws -> Shared<Int> {
    switch self {
    case .inMemory: Shared(wrappedValue: 0, .inMemory("count"))
    case .appStorage: Shared(wrappedValue: 0, .appStorage("count", store: try Self.defaults(in: place)))
    case .fileStorage: Shared(wrappedValue: 0, .fileStorage(Self.file(in: place)))
    case .redis: Shared(wrappedValue: 0, .redis("count", store: try RedisStore(RedisConfiguration(url: place))))
    }
  }

  /// Changes the value from another process, or, where the value is in memory, from a detached task.
  func changeElsewhere(to value: Int, at place: String) async throws {
    if self == .inMemory {
      return try await Task.detached { try await change(to: value, at: place) }.value
    }
    let folder = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    _ = try await run(
      .name("MainThreadProgram"),
      arguments: ["change", rawValue, place, String(value)],
      environment: .inherit.updating(["PATH": folder.path]),
      output: .discarded,
      error: .currentStandardError
    )
  }

  /// Changes the value the way another program would.
  func change(to value: Int, at place: String) async throws {
    switch self {
    case .inMemory: try share(at: place).withLock { $0 = value }
    case .appStorage:
      let defaults = try Self.defaults(in: place)
      defaults.set(value, forKey: "count")
      _ = defaults.synchronize()
    case .fileStorage: try Data("\(value)".utf8).write(to: Self.file(in: place), options: .atomic)
    case .redis:
      let share = try share(at: place)
      share.withLock { $0 = value }
      try await share.save()
    }
  }

  private static func defaults(in folder: String) throws -> UserDefaults {
    guard let defaults = UserDefaults(suiteName: folder + "/defaults") else { throw CocoaError(.fileNoSuchFile) }
    return defaults
  }

  private static func file(in folder: String) -> URL {
    URL(fileURLWithPath: folder).appendingPathComponent("count.json")
  }
}
