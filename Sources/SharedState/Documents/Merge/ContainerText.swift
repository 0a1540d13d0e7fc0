/// The new text of an object or an array: some of its own items, in any order and each with the space around it, and
/// others.
struct ContainerText {
  private let source: MergedText.Source
  private let container: Range<Int>
  private(set) var pieces: [MergedText.Piece] = []
  private var isEmpty = true
  /// The end of the item that was written last, if it is one of this container.
  private var end: Int?

  /// Opens an object or an array.
  init(_ source: MergedText.Source, _ container: Range<Int>) {
    self.source = source
    self.container = container
    write(container.lowerBound..<(container.lowerBound + 1))
  }

  /// Writes an item of this container.
  /// - Parameter value: The text for its value; `nil` to keep that as it is.
  mutating func append(_ item: JSONItems.Element, of document: JSONDocument, value: MergedText.Piece? = nil) {
    if let end, end + 1 == item.range.lowerBound {
      write(end..<item.range.lowerBound)
    } else {
      separate()
    }
    if let value {
      let range = document.nodes[item.value].range
      write(item.range.lowerBound..<range.lowerBound)
      pieces.append(value)
      write(range.upperBound..<item.range.upperBound)
    } else {
      write(item.range)
    }
    isEmpty = false
    end = item.range.upperBound
  }

  /// Writes an item that is not of this container.
  mutating func append(_ item: [MergedText.Piece]) {
    separate()
    pieces += item
    isEmpty = false
    end = nil
  }

  /// Closes the object or array, with the space in front of the bracket.
  /// - Parameter last: The last item that the container had.
  mutating func close(behind last: JSONItems.Element?) {
    write((last?.range.upperBound ?? container.lowerBound + 1)..<container.upperBound)
  }

  private mutating func separate() {
    if !isEmpty { pieces.append(.bytes([UInt8(ascii: ",")])) }
  }

  private mutating func write(_ range: Range<Int>) {
    guard !range.isEmpty else { return }
    if case .text(source, let previous) = pieces.last, previous.upperBound == range.lowerBound {
      pieces[pieces.count - 1] = .text(source, previous.lowerBound..<range.upperBound)
    } else {
      pieces.append(.text(source, range))
    }
  }
}
