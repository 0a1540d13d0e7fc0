import Glibc

/// What a system call refused.
package struct SocketError: Error, CustomStringConvertible {
  package let description: String

  init(_ call: String, code: Int32 = errno) {
    description = "\(call): \(String(cString: strerror(code)))"
  }
}
