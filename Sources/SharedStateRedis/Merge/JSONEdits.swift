import Foundation

/// Changes to the text of a document, in places that do not overlap.
struct JSONEdits {
  private struct Edit: Comparable {
    var range: Range<Int>
    var replacement: [UInt8]

    /// What is put between two bytes comes before the change of what follows.
    static func < (one: Self, other: Self) -> Bool {
      (one.range.lowerBound, one.range.upperBound) < (other.range.lowerBound, other.range.upperBound)
    }
  }

  private var edits: [Edit] = []

  var isEmpty: Bool { edits.isEmpty }

  /// Puts bytes in the place of others; an empty range is a place between two bytes.
  mutating func replace(_ range: Range<Int>, with replacement: some Sequence<UInt8>) {
    edits.append(Edit(range: range, replacement: Array(replacement)))
  }

  /// The text with all changes made, whatever order they were asked for in.
  func applied(to bytes: [UInt8]) -> Data {
    var result = Data(capacity: edits.reduce(bytes.count) { $0 + $1.replacement.count })
    var position = 0
    for edit in edits.sorted() {
      result.append(contentsOf: bytes[position..<edit.range.lowerBound])
      result.append(contentsOf: edit.replacement)
      position = edit.range.upperBound
    }
    result.append(contentsOf: bytes[position...])
    return result
  }
}
