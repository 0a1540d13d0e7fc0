import Glibc

/// A system call that failed.
package struct SocketError: Error, CustomStringConvertible {
  package let description: String

  init(_ call: String, code: Int32 = errno) {
    description = "\(call): \(String(cString: strerror(code)))"
  }
}
