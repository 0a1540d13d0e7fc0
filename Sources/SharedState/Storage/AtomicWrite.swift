import Foundation
import Synchronization

/// Replaces a file in one step: everybody reads the old content or the new one, also after a crash or a power cut.
struct AtomicWrite {
  private static let counter = Atomic<UInt64>(0)
  /// Marks the files that a replacement is prepared in.
  private static let suffix = ".shared-state"
  /// How old a prepared file is at least, before it counts as left behind.
  private static let staleAge: TimeInterval = 3600

  private let path: String
  private let directory: String
  private let name: String

  init(path: String) {
    self.path = path
    directory = (path as NSString).deletingLastPathComponent
    name = (path as NSString).lastPathComponent
  }

  /// Writes the content; missing directories are made.
  ///
  /// - Returns: The stamp of the file that is now there.
  /// - Throws: ``FileStorageError``; the file is then as it was.
  func write(_ data: Data) throws -> FileStamp {
    let mode = try presentMode()
    let number = Self.counter.add(1, ordering: .relaxed).newValue
    if number == 1 || number % 1024 == 0 { removeLeftovers() }
    let temporary = "\(directory)/.\(name).\(getpid()).\(number)\(Self.suffix)"
    let file = try create(temporary)
    do {
      if let mode { try file.setMode(mode) }
      try file.writeAll(data)
      try file.synchronize()
      guard rename(temporary, path) == 0 else { throw FileStorageError.system("replace", path) }
    } catch {
      unlink(temporary)
      throw error
    }
    // The new name, too, survives a power cut only once the directory is on the disk.
    try OpenFile(directory, flags: O_RDONLY | O_DIRECTORY, operation: "write")?.synchronize()
    return try file.stamp()
  }

  /// The permissions of the file that is replaced; they stay.
  private func presentMode() throws -> mode_t? {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    // Replacing needs no permission for the file itself, but who made it read-only did not want it replaced.
    guard access(path, W_OK) == 0 else { throw FileStorageError.system("write", path) }
    guard status.st_mode & S_IFMT != S_IFDIR else {
      throw FileStorageError.system(operation: "write", path: path, code: EISDIR)
    }
    return status.st_mode & 0o7777
  }

  private func create(_ temporary: String) throws -> OpenFile {
    let flags = O_WRONLY | O_CREAT | O_EXCL
    if let file = try OpenFile(temporary, flags: flags, mode: 0o666, operation: "write") { return file }
    try Self.makeDirectory(directory)
    if let file = try OpenFile(temporary, flags: flags, mode: 0o666, operation: "write") { return file }
    throw FileStorageError.system(operation: "write", path: path, code: ENOENT)
  }

  private static func makeDirectory(_ path: String) throws {
    if mkdir(path, 0o777) == 0 || errno == EEXIST { return }
    let parent = (path as NSString).deletingLastPathComponent
    guard errno == ENOENT, parent != path, !parent.isEmpty else {
      throw FileStorageError.system("make the directory", path)
    }
    try makeDirectory(parent)
    guard mkdir(path, 0o777) == 0 || errno == EEXIST else {
      throw FileStorageError.system("make the directory", path)
    }
  }

  /// Removes what processes left behind that were killed in the middle of a write.
  private func removeLeftovers() {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
    let start = Name(".\(name).")
    for candidate in names where Name(candidate).hasPrefix(start) && candidate.hasSuffix(Self.suffix) {
      let leftover = "\(directory)/\(candidate)"
      var status = stat()
      // Only by age: a process of another container may write the same file, and its number says nothing here.
      guard stat(leftover, &status) == 0 else { continue }
      let stamp = FileStamp(status)
      let age = Date().timeIntervalSince1970 - TimeInterval(stamp.modified) / 1_000_000_000
      if age > Self.staleAge { unlink(leftover) }
    }
  }
}
