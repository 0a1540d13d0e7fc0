import Foundation
import SharedState
import SharedStateDependencies
import SharedStateTesting
import Testing

/// A directory of one test, removed at its end.
final class TemporaryDirectory: Sendable {
  let url: URL

  init() throws {
    url = URL(fileURLWithPath: NSTemporaryDirectory()).appendingPathComponent("shared-state-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit {
    try? FileManager.default.removeItem(at: url)
  }

  subscript(_ name: String) -> URL {
    url.appendingPathComponent(name)
  }
}

/// Runs the closure with files on the disk.
func withDisk<Result>(_ operation: () async throws -> Result) async throws -> Result {
  try await withDependencies {
    $0.defaultFileStorage = .fileSystem
  } operation: {
    try await operation()
  }
}

/// Returns once the share has the value.
func wait<Value: Equatable & Sendable>(
  for value: Value,
  in share: Shared<Value>,
  sourceLocation: SourceLocation = #_sourceLocation
) async throws {
  try await inTime("\(value)", found: { "\(share.wrappedValue)" }, sourceLocation: sourceLocation) {
    for await present in share.updates where present == value { return }
    throw CancellationError()
  }
}
