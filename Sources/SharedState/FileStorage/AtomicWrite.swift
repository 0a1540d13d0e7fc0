import Foundation
import Synchronization

/// Replaces a file in one step: a reader gets the old content or the new one, also after a crash or a power cut.
///
/// A file that is mounted by itself, as containers mount one, cannot be replaced. It is written in place, where a reader
/// may get a part of the new content, and a crash may leave a mixture.
struct AtomicWrite {
  /// The files whose leftovers were looked for; at most as many as are written in one round.
  private static let looked = Mutex<(paths: Set<Name>, writes: Int)>(([], 0))
  /// After this many writes, leftovers are looked for again.
  private static let writesInOneRound = 1024
  /// The least age of a leftover: of one that is not locked, and of one that cannot be locked.
  private static let staleAge = (unlocked: Duration.seconds(60), unlockable: Duration.seconds(3600))

  private let path: String
  private let directory: String
  private let temporary: TemporaryName
  private let newMode: mode_t
  private let rename: (_ old: String, _ new: String) -> Int32

  /// - Parameters:
  ///   - newMode: The permissions of a file that is made, less those that the process withholds.
  ///   - rename: The call of the system.
  init(
    path: String,
    newMode: mode_t = 0o666,
    rename: @escaping (_ old: String, _ new: String) -> Int32 = { Foundation.rename($0, $1) }
  ) {
    self.path = path
    self.newMode = newMode
    self.rename = rename
    directory = (path as NSString).deletingLastPathComponent
    temporary = TemporaryName(of: (path as NSString).lastPathComponent)
  }

  /// Writes the content; missing directories are made.
  ///
  /// - Parameter verify: Called directly before the file is changed, which it is not if this throws an error.
  /// - Returns: The stamp of the file as it was written.
  /// - Throws: ``FileStorageError``; the file is then as it was, unless only its directory could not be synchronised.
  func write(_ data: Data, verify: () throws -> Void = {}) throws -> FileStamp {
    do {
      return try replace(by: data, verify)
    } catch let error as FileStorageError where [EBUSY, EROFS].contains(error.systemError) {
      try verify()
      // The file is mounted by itself, and its directory may be read-only.
      guard let stamp = try overwrite(by: data) else { throw error }
      return stamp
    }
  }

  /// Writes the content in place.
  ///
  /// - Returns: The stamp of the file; `nil` when there is none.
  private func overwrite(by data: Data) throws -> FileStamp? {
    guard let file = try OpenFile(path, flags: O_WRONLY, operation: "write") else { return nil }
    try file.writeAll(data)
    try file.truncate(to: data.count)
    // Before another program can edit what was written.
    let stamp = try file.stamp()
    try file.synchronize()
    return stamp
  }

  private func replace(by data: Data, _ verify: () throws -> Void) throws -> FileStamp {
    let mode = try presentMode()
    let temporary = "\(directory)/\(temporary.make())"
    let file = try create(temporary)
    let written: FileStamp
    do {
      // While it is open, the lock shows that it is no leftover.
      _ = file.lock()
      // Before the content needs room on the disk.
      if isToBeLookedAt() { removeLeftovers(asOf: try file.stamp()) }
      if let mode { try file.setMode(mode) }
      try file.writeAll(data)
      try file.synchronize()
      written = try file.stamp()
      try verify()
      guard rename(temporary, path) == 0 else { throw FileStorageError.system("replace", path) }
    } catch {
      unlink(temporary)
      throw error
    }
    try synchronizeDirectory()
    let stamp = try file.stamp()
    // Another program may have edited it meanwhile, which a later look at it has to notice.
    return stamp.size == written.size && stamp.modified == written.modified ? stamp : written
  }

  /// The new name survives a power cut only once the directory is on the disk, too.
  private func synchronizeDirectory() throws {
    do {
      try OpenFile(directory, flags: O_RDONLY | O_DIRECTORY, operation: "write")?.synchronize()
    } catch let error as FileStorageError where error.systemError == EACCES {
      // A directory may permit writing without permitting reading.
    }
  }

  /// The permissions of the file that is replaced; they stay.
  private func presentMode() throws -> mode_t? {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    // Replacing needs no permission for the file itself, but a read-only file is not meant to be replaced.
    guard access(path, W_OK) == 0 else { throw FileStorageError.system("write", path) }
    guard status.st_mode & S_IFMT != S_IFDIR else {
      throw FileStorageError.system(operation: "write", path: path, code: EISDIR)
    }
    return status.st_mode & 0o7777
  }

  private func create(_ temporary: String) throws -> OpenFile {
    let flags = O_WRONLY | O_CREAT | O_EXCL
    if let file = try OpenFile(temporary, flags: flags, mode: newMode, operation: "write") { return file }
    try Self.makeDirectory(directory)
    if let file = try OpenFile(temporary, flags: flags, mode: newMode, operation: "write") { return file }
    throw FileStorageError.system(operation: "write", path: path, code: ENOENT)
  }

  private static func makeDirectory(_ path: String) throws {
    if mkdir(path, 0o777) == 0 { return }
    let code = errno
    if code == EEXIST { return }
    let parent = (path as NSString).deletingLastPathComponent
    guard code == ENOENT, parent != path, !parent.isEmpty else {
      throw FileStorageError.system(operation: "make the directory", path: path, code: code)
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

  /// Removes the files of processes that were killed in the middle of a write.
  ///
  /// - Parameter present: The stamp of a file that was made just now, because the file system may have another clock
  ///   than this machine.
  private func removeLeftovers(asOf present: FileStamp) {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
    for name in names where temporary.isMade(name) {
      let leftover = "\(directory)/\(name)"
      guard
        let file = try? OpenFile(leftover, flags: O_RDONLY | O_NOFOLLOW, operation: "look at"),
        let modified = try? file.stamp().modified
      else { continue }
      let age = Duration.nanoseconds(present.modified &- modified)
      // A file that was just made may not be locked yet.
      guard age > Self.staleAge.unlocked else { continue }
      // The process may run in another container: its number means nothing here, but its lock does.
      switch file.lock() {
      case .taken: unlink(leftover)
      case .held: break
      case .unknown: if age > Self.staleAge.unlockable { unlink(leftover) }
      }
    }
  }
}

/// The names of the temporary files that prepare the replacement of one file, beside it.
///
/// They are random: after a restart another process may have the same number, and in a container the number is always
/// 1.
struct TemporaryName {
  private static let suffix = ".shared-state"
  private static let digits = 16

  private let prefix: String

  /// - Parameter name: The name of the file that is replaced.
  init(of name: String) {
    prefix = ".\(name)."
  }

  /// Makes a new name each time.
  func make() -> String {
    prefix + UInt64.random(in: .min ... .max).hexadecimal(digits: Self.digits) + Self.suffix
  }

  /// Whether a file has such a name, and so is ours.
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
    // Earlier releases used the number of the process and that of the write.
    let parts = number.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    return parts.count == 2 && parts.allSatisfy { !$0.isEmpty && $0.allSatisfy(Self.isDecimal) }
  }

  private static func isDecimal(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }
}
