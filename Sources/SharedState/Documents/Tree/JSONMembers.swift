/// The members of an object, in the order of the text.
struct JSONMembers: Sequence, IteratorProtocol {
  /// The numbers of a member's nodes.
  typealias Element = (key: Int, value: Int)

  private let nodes: [JSONNode]
  private var key: Int
  private let end: Int

  /// Takes the nodes of a document, and the number of an object's; anything else has no members.
  init(_ nodes: [JSONNode], of object: Int) {
    self.nodes = nodes
    key = object + 1
    end = nodes[object].kind == .object ? Int(nodes[object].next) : key
  }

  mutating func next() -> Element? {
    guard key < end else { return nil }
    defer { key = Int(nodes[key + 1].next) }
    return (key, key + 1)
  }
}
