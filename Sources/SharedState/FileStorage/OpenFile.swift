import Foundation

/// An open file, closed when it is released.
final class OpenFile {
  private let descriptor: Int32
  private let path: String

  /// Opens a file; `nil` when there is none.
  ///
  /// - Throws: ``FileStorageError`` when the system refuses.
  init?(_ path: String, flags: Int32, mode: mode_t = 0, operation: String) throws {
    self.path = path
    // Opening a pipe in place of the file would block for ever; for a regular file the flag changes nothing.
    descriptor = open(path, flags | O_CLOEXEC | O_NONBLOCK, mode)
    guard descriptor < 0 else { return }
    guard errno == ENOENT || errno == ENOTDIR else { throw FileStorageError.system(operation, path) }
    return nil
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  func stamp() throws -> FileStamp {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw FileStorageError.system("look at", path) }
    return FileStamp(status)
  }

  func readAll() throws -> Data {
    var data = Data()
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = buffer.withUnsafeMutableBytes { Foundation.read(descriptor, $0.baseAddress, $0.count) }
      if count == 0 { return data }
      if count > 0 {
        data.append(contentsOf: buffer[..<count])
      } else if errno != EINTR {
        throw FileStorageError.system("read", path)
      }
    }
  }

  func writeAll(_ data: Data) throws {
    try data.withUnsafeBytes { bytes in
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = Foundation.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
        if count >= 0 {
          rest = rest.dropFirst(count)
        } else if errno != EINTR {
          throw FileStorageError.system("write", path)
        }
      }
    }
  }

  /// Removes what is behind this many bytes.
  func truncate(to count: Int) throws {
    guard ftruncate(descriptor, off_t(count)) == 0 else { throw FileStorageError.system("write", path) }
  }

  func setMode(_ mode: mode_t) throws {
    guard fchmod(descriptor, mode) == 0 else { throw FileStorageError.system("write", path) }
  }

  enum Lock {
    case taken
    /// The file is locked through another open file.
    case held
    /// The file system has no locks.
    case unknown
  }

  /// Locks the file, without waiting, until it is closed, also by the end of the process.
  func lock() -> Lock {
    while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
      if errno == EINTR { continue }
      return errno == EWOULDBLOCK ? .held : .unknown
    }
    return .taken
  }

  /// Returns once the content is on the disk.
  func synchronize() throws {
    while fsync(descriptor) != 0 {
      if errno == EINTR { continue }
      // Some file systems cannot synchronise a directory.
      if errno == EINVAL { return }
      throw FileStorageError.system("write", path)
    }
  }
}
