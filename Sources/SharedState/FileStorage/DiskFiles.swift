import Foundation

/// The files of this computer.
struct DiskFiles: FileSystem {
  var saveInterval = Duration.seconds(1)
  let watchInterval = Duration.seconds(1)

  func read(_ path: String) throws -> FileContent? {
    guard let file = try OpenFile(path, flags: O_RDONLY, operation: "read") else { return nil }
    // Stamped before it is read: after a change in between, the stamp is old rather than the content.
    let stamp = try file.stamp()
    return try FileContent(data: file.readAll(), stamp: stamp)
  }

  func stamp(of path: String) throws -> FileStamp? {
    var status = stat()
    guard stat(path, &status) == 0 else {
      guard errno == ENOENT || errno == ENOTDIR else { throw FileStorageError.system("look at", path) }
      return nil
    }
    return FileStamp(status)
  }

  func write(_ data: Data, to path: String, verify: () throws -> Void) throws -> FileStamp {
    try AtomicWrite(path: Self.target(of: path)).write(data, verify: verify)
  }

  func remove(_ path: String) throws {
    let target = Self.target(of: path)
    guard unlink(target) == 0 || errno == ENOENT || errno == ENOTDIR else {
      throw FileStorageError.system("remove", target)
    }
  }

  func watch(
    _ path: String,
    onChange: @escaping @Sendable () -> Void,
    onEnd: @escaping @Sendable (any Error) -> Void
  ) throws -> SharedSubscription {
    try Inotify.shared.watch(path, onChange: onChange, onEnd: onEnd)
  }

  /// The final target of a symbolic link, so that the target is replaced and not the link.
  private static func target(of path: String) -> String {
    var path = path
    // The system itself gives up after 40 links.
    for _ in 0..<40 {
      guard let link = try? FileManager.default.destinationOfSymbolicLink(atPath: path) else { break }
      path = link.hasPrefix("/") ? link : (path as NSString).deletingLastPathComponent + "/" + link
    }
    return path
  }
}

extension FileStamp {
  init(_ status: stat) {
    let (modified, changed) = (status.st_mtim, status.st_ctim)
    self.init(
      device: UInt64(truncatingIfNeeded: status.st_dev),
      inode: UInt64(status.st_ino),
      size: Int64(status.st_size),
      modified: Int64(modified.tv_sec) &* 1_000_000_000 &+ Int64(modified.tv_nsec),
      changed: Int64(changed.tv_sec) &* 1_000_000_000 &+ Int64(changed.tv_nsec)
    )
  }
}
