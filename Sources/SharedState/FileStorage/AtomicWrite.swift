import Foundation
import Synchronization

/// Replaces a file in one step: everybody reads the old content or the new one, also after a crash or a power cut.
struct AtomicWrite {
  /// The files beside which somebody has looked for what was left behind; at most as many as are written in one round.
  private static let looked = Mutex<(paths: Set<Name>, writes: Int)>(([], 0))
  /// After how many writes everything is looked at again.
  private static let writesInOneRound = 1024
  /// How old a file is at least before it counts as left behind: one that nobody has locked, and one that cannot be
  /// locked.
  private static let staleAge = (unlocked: Duration.seconds(60), unlockable: Duration.seconds(3600))

  private let path: String
  private let directory: String
  private let temporary: TemporaryName

  init(path: String) {
    self.path = path
    directory = (path as NSString).deletingLastPathComponent
    temporary = TemporaryName(of: (path as NSString).lastPathComponent)
  }

  /// Writes the content; missing directories are made.
  ///
  /// - Returns: The stamp of the file that is now there.
  /// - Throws: ``FileStorageError``; the file is then as it was.
  func write(_ data: Data) throws -> FileStamp {
    let mode = try presentMode()
    let temporary = "\(directory)/\(temporary.make())"
    let file = try create(temporary)
    do {
      // For as long as it is open, nobody takes it for left behind.
      _ = file.lock()
      // Before the content needs room on the disk.
      if isToBeLookedAt() { removeLeftovers(asOf: try file.stamp()) }
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

  private func isToBeLookedAt() -> Bool {
    Self.looked.withLock { looked in
      looked.writes += 1
      if looked.writes == Self.writesInOneRound { looked = ([], 0) }
      return looked.paths.insert(Name(path)).inserted
    }
  }

  /// Removes what processes left behind that were killed in the middle of a write.
  ///
  /// - Parameter present: The stamp of a file that was made just now: the clock of the file system may be another one than
  ///   this machine's.
  private func removeLeftovers(asOf present: FileStamp) {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
    for name in names where temporary.isMade(name) {
      let leftover = "\(directory)/\(name)"
      guard
        let file = try? OpenFile(leftover, flags: O_RDONLY | O_NOFOLLOW, operation: "look at"),
        let modified = try? file.stamp().modified
      else { continue }
      let age = Duration.nanoseconds(present.modified &- modified)
      // Whoever has just made one has not locked it yet.
      guard age > Self.staleAge.unlocked else { continue }
      // A process of another container may write the same file, and its number says nothing here, but its lock does.
      switch file.lock() {
      case .taken: unlink(leftover)
      case .held: break
      case .unknown: if age > Self.staleAge.unlockable { unlink(leftover) }
      }
    }
  }
}

/// The names of the files in which the replacement of one file is prepared, beside it.
///
/// They are random: the number of a process is another one's after a restart, and in a container it is always 1.
struct TemporaryName {
  private static let suffix = ".shared-state"
  private static let digits = 16

  private let prefix: String

  /// - Parameter name: The name of the file that is replaced.
  init(of name: String) {
    prefix = ".\(name)."
  }

  /// Makes another one each time.
  func make() -> String {
    let number = String(UInt64.random(in: .min ... .max), radix: 16)
    return prefix + String(repeating: "0", count: Self.digits - number.utf8.count) + number + Self.suffix
  }

  /// Whether a file has such a name, so that it is ours.
  func isMade(_ name: String) -> Bool {
    let bytes = Array(name.utf8)
    guard
      bytes.count > prefix.utf8.count + Self.suffix.utf8.count, bytes.starts(with: prefix.utf8),
      bytes.reversed().starts(with: Self.suffix.utf8.reversed())
    else { return false }
    let number = bytes[prefix.utf8.count..<bytes.count - Self.suffix.utf8.count]
    if number.count == Self.digits, number.allSatisfy({ Self.isDecimal($0) || (0x61...0x66).contains($0) }) {
      return true
    }
    // Earlier releases had the number of the process there, and of the write.
    let parts = number.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    return parts.count == 2 && parts.allSatisfy { !$0.isEmpty && $0.allSatisfy(Self.isDecimal) }
  }

  private static func isDecimal(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }
}
