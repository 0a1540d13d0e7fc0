import Foundation

/// A name, which is the same as another one when their bytes are.
///
/// Strings compare by canonical equivalence: an "é" is one text, whether it is one character or a letter and an accent.
/// To Redis and to a file system these are two names, and so they are here. Whatever is found by its
/// name is kept under one of these.
package struct Name: Hashable, Comparable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
  /// The name, for those who only want to show it or to hand it on.
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
    // As with strings, so that two names behind one another are told from two others.
    hasher.combine(0xFF as UInt8)
  }

  package func hasPrefix(_ prefix: Name) -> Bool {
    withBytes { bytes in
      prefix.withBytes { prefix in prefix.isPrefix(of: bytes) }
    }
  }

  private func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    // Strings are contiguous here. Only those that another language has made need a copy.
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
