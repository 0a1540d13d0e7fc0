import Foundation

/// The text that results from a merge: theirs, with other text in place of some values.
///
/// Values of the stored document can be replaced, too, when they are brought back.
struct MergedText {
  /// The documents that the text is made of.
  enum Source: Equatable { case stored, mine, theirs }

  /// A part of the text.
  enum Piece {
    /// A range of a document's text.
    case text(Source, Range<Int>)
    /// A value of a document, by the number of its node, with all changes in it.
    case value(Source, Int)
    /// Bytes that are in none of the documents.
    case bytes([UInt8])
  }

  private struct Value: Hashable {
    var source: Source
    var node: Int
  }

  private var changes: [Value: [Piece]] = [:]
  /// Whether the text differs from theirs.
  private(set) var isChanged = false

  /// Puts pieces in the place of a value.
  /// - Parameter isChange: Whether they differ from the text of the value, apart from other values among them.
  mutating func replace(_ source: Source, _ node: Int, with pieces: [Piece], isChange: Bool) {
    changes[Value(source: source, node: node)] = pieces
    isChanged = isChanged || isChange
  }

  /// The text of a whole document.
  func data(of source: Source, in documents: (Source) -> JSONDocument) -> Data {
    let document = documents(source)
    let root = document.nodes[0].range
    var result: [UInt8] = []
    result.reserveCapacity(document.bytes.count + 256)
    result += document.bytes[..<root.lowerBound]
    // A list instead of recursion, because deep documents could exhaust the stack.
    var pending: [Piece] = [.value(source, 0)]
    while let piece = pending.popLast() {
      switch piece {
      case .bytes(let bytes): result += bytes
      case .text(let source, let range): result += documents(source).bytes[range]
      case .value(let source, let node):
        if let pieces = changes[Value(source: source, node: node)] {
          pending += pieces.reversed()
        } else {
          result += documents(source).text(of: node)
        }
      }
    }
    result += document.bytes[root.upperBound...]
    return Data(result)
  }
}
