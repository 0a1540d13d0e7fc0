/// The place of each value of a document, or of a part of it, in its container.
///
/// It is made when the first place is asked for. After that no answer takes longer in a large container, even when a
/// type fails to read each of many elements.
struct DocumentPlaces {
  /// The place of a value: its container, and there the index of an element or the number of a member's key.
  typealias Step = (container: UInt32, position: UInt32)

  private let root: Int
  private var steps: ContiguousArray<Step>

  /// Takes the number of the node at which all paths begin.
  init(_ document: JSONDocument, below root: Int) {
    self.root = root
    let nodes = document.nodes
    steps = ContiguousArray(repeating: (0, 0), count: Int(nodes[root].next) - root)
    for container in root..<Int(nodes[root].next) {
      switch nodes[container].kind {
      case .array:
        var (element, index) = (container + 1, 0 as UInt32)
        while element < nodes[container].next {
          steps[element - root] = (UInt32(container), index)
          element = Int(nodes[element].next)
          index += 1
        }
      case .object:
        for member in document.members(of: container) {
          steps[member.key - root] = (UInt32(container), UInt32(member.key))
          steps[member.value - root] = (UInt32(container), UInt32(member.key))
        }
      default: break
      }
    }
  }

  /// The steps that lead to a value or a key, beginning with the outermost.
  func path(to node: Int) -> [Step] {
    var (path, current): ([Step], Int) = ([], node)
    while current > root {
      let step = steps[current - root]
      path.append(step)
      current = Int(step.container)
    }
    return path.reversed()
  }
}
