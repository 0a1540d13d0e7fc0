package import Foundation

/// A file that only its user may read, and that is replaced in one step, for the other modules of the package.
///
/// May be used on any thread. Every call may block for as long as the disk does.
package struct PrivateFile: Sendable {
  private let folder: String
  private let path: String

  /// How often the lock of the folder is tried, a hundredth of a second apart.
  private static let attempts = 100

  /// - Parameters:
  ///   - name: The name of the file in the folder.
  ///   - folder: Made when the file is written.
  package init(_ name: String, in folder: URL) {
    self.folder = folder.path
    path = folder.appendingPathComponent(name).path
  }

  /// Distinguishes the content of the file from every other; `nil` when there is no file.
  ///
  /// - Throws: ``FileStorageError`` when the system refuses.
  package func stamp() throws -> FileStamp? {
    try OpenFile(path, flags: O_RDONLY, operation: "look at")?.stamp()
  }

  /// The content of the file; `nil` when there is none.
  ///
  /// - Throws: ``FileStorageError`` when the system refuses.
  package func read() throws -> Data? {
    try OpenFile(path, flags: O_RDONLY, operation: "read")?.readAll()
  }

  /// Replaces the content. After a crash or a power cut, the file has the old content or the new one.
  ///
  /// - Returns: The stamp of the file as it was written.
  /// - Throws: ``FileStorageError``; the file is then as it was.
  package func write(_ data: Data) throws -> FileStamp {
    try AtomicWrite(path: path, newMode: 0o600).write(data)
  }

  /// Gives the file another name in its folder, in place of a file that has it.
  ///
  /// - Throws: ``FileStorageError`` when the system refuses.
  package func rename(to name: String) throws {
    guard Foundation.rename(path, "\(folder)/\(name)") == 0 else { throw FileStorageError.system("rename", path) }
  }

  /// Runs the body while no other process, and no other thread, does the same in the folder. A file system without
  /// locks cannot exclude them.
  ///
  /// - Throws: ``FileStorageError`` when the lock is not free within a second; what the body throws.
  package func alone<Result>(_ body: () throws -> Result) throws -> Result {
    let lock = try OpenFile(folder, flags: O_RDONLY | O_DIRECTORY, operation: "lock")
    for _ in 0..<Self.attempts {
      guard case .held? = lock?.lock() else { return try withExtendedLifetime(lock) { try body() } }
      usleep(10_000)
    }
    throw FileStorageError.system(operation: "lock", path: folder, code: EWOULDBLOCK)
  }
}
