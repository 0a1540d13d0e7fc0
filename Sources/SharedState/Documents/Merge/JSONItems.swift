/// The members of an object, or the elements of an array, in the order of the text, with the space around them.
struct JSONItems: Sequence, IteratorProtocol {
  /// A member or an element.
  struct Element {
    /// The number of a member's key, or of an element.
    var node: Int
    /// The number of a member's value, or of an element.
    var value: Int
    /// The place of its text: from the bracket or comma before it to the comma after it, or to its end when it is the
    /// last item.
    var range: Range<Int>
  }

  private let document: JSONDocument
  private let isObject: Bool
  private var node: Int
  private let end: Int
  private var start: Int

  /// Takes the number of an object or an array.
  init(_ document: JSONDocument, of container: Int) {
    self.document = document
    let node = document.nodes[container]
    isObject = node.kind == .object
    self.node = container + 1
    end = Int(node.next)
    start = Int(node.lower) + 1
  }

  mutating func next() -> Element? {
    guard node < end else { return nil }
    let value = isObject ? node + 1 : node
    var item = Element(node: node, value: value, range: start..<Int(document.nodes[value].upper))
    node = Int(document.nodes[value].next)
    guard node < end, let comma = document.bytes[item.range.upperBound...].firstIndex(of: UInt8(ascii: ",")) else {
      return item
    }
    item.range = start..<comma
    start = comma + 1
    return item
  }
}
