import Foundation

/// A name that equals another one only when their bytes are equal.
///
/// Strings compare by canonical equivalence: an "é" is one text, whether it is one character or a letter and an accent.
/// To Redis and to a file system these are two names, and so they are here. Everything that is found by name is stored
/// under a `Name`.
package struct Name: Hashable, Comparable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
  /// The name as text, to be shown or handed on.
  package let text: String

  package init(_ text: String) {
    self.text = text
  }

  package init(stringLiteral text: String) {
    self.text = text
  }

  package var description: String { text }

  package static func == (lhs: Name, rhs: Name) -> Bool {
    lhs.withBytes { lhs in
      rhs.withBytes { rhs in lhs.count == rhs.count && lhs.isPrefix(of: rhs) }
    }
  }

  package static func < (lhs: Name, rhs: Name) -> Bool {
    lhs.text.utf8.lexicographicallyPrecedes(rhs.text.utf8)
  }

  package func hash(into hasher: inout Hasher) {
    withBytes { hasher.combine(bytes: $0) }
    // A terminator, as in the hash of a string, so that "ab", "c" and "a", "bc" differ.
    hasher.combine(0xFF as UInt8)
  }

  package func hasPrefix(_ prefix: Name) -> Bool {
    withBytes { bytes in
      prefix.withBytes { prefix in prefix.isPrefix(of: bytes) }
    }
  }

  private func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    // Native strings are contiguous. Only bridged ones need a copy.
    text.utf8.withContiguousStorageIfAvailable { body(UnsafeRawBufferPointer($0)) }
      ?? Array(text.utf8).withUnsafeBytes(body)
  }
}

extension UnsafeRawBufferPointer {
  fileprivate func isPrefix(of other: UnsafeRawBufferPointer) -> Bool {
    guard let start = baseAddress, let otherStart = other.baseAddress else { return isEmpty }
    return count <= other.count && memcmp(start, otherStart, count) == 0
  }
}
