import SharedStateMacroExpansion

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Answers the compiler, message by message, until the compiler closes its end.
///
/// A message is its length, as eight bytes with the least significant one first, followed by that many bytes of JSON.
@main
enum Plugin {
  static func main() {
    // Anything that a library prints by mistake must not get between the answers.
    let input = dup(STDIN_FILENO)
    let output = dup(STDOUT_FILENO)
    close(STDIN_FILENO)
    dup2(STDERR_FILENO, STDOUT_FILENO)
    while let message = read(from: input) {
      guard write(PluginMessage.answer(to: message), to: output) else { return }
    }
  }

  private static func read(from file: Int32) -> [UInt8]? {
    guard let header = bytes(8, from: file) else { return nil }
    let count = header.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    // No source is that large: the sender speaks another protocol.
    guard count <= 1 << 30 else { return nil }
    return bytes(Int(count), from: file)
  }

  private static func bytes(_ count: Int, from file: Int32) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    var done = 0
    while done < count {
      let read = bytes[done...].withUnsafeMutableBytes { systemRead(file, $0) }
      if read > 0 { done += read } else if read == 0 || errno != EINTR { return nil }
    }
    return bytes
  }

  private static func write(_ message: [UInt8], to file: Int32) -> Bool {
    let header = (0..<8).map { UInt8(truncatingIfNeeded: message.count >> ($0 * 8)) }
    let bytes = header + message
    var done = 0
    while done < bytes.count {
      let written = bytes[done...].withUnsafeBytes { systemWrite(file, $0) }
      if written > 0 { done += written } else if errno != EINTR { return false }
    }
    return true
  }
}

// The names of the system's functions are hidden by those above.
private func systemRead(_ file: Int32, _ bytes: UnsafeMutableRawBufferPointer) -> Int {
  read(file, bytes.baseAddress, bytes.count)
}

private func systemWrite(_ file: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
  write(file, bytes.baseAddress, bytes.count)
}
