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
    // A pipe in place of the file would block for ever; a regular file does not care.
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

  func setMode(_ mode: mode_t) throws {
    guard fchmod(descriptor, mode) == 0 else { throw FileStorageError.system("write", path) }
  }

  enum Lock {
    case taken
    /// Somebody has it open, and locked.
    case held
    /// Files cannot be locked there.
    case unknown
  }

  /// Locks the file until it is closed, also by the end of the process; does not wait.
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
      // Some file systems do not know how to synchronise a directory.
      if errno == EINVAL { return }
      throw FileStorageError.system("write", path)
    }
  }
}
