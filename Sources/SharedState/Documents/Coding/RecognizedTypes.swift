import Synchronization

/// The roles of recent types, found without a lock.
struct RecognizedTypes<Role: AnyObject> {
  private var entries: ContiguousArray<(type: ObjectIdentifier, role: Role)?> = []

  private static var size: Int { 32 }

  /// Finds the role of a type, and remembers it.
  @inline(__always)
  mutating func role(of type: Any.Type, _ find: () -> Role) -> Role {
    let id = ObjectIdentifier(type)
    let index = id.hashBits & (Self.size - 1)
    if !entries.isEmpty, let entry = entries[index], entry.type == id { return entry.role }
    if entries.isEmpty { entries = ContiguousArray(repeating: nil, count: Self.size) }
    let role = find()
    entries[index] = (id, role)
    return role
  }
}

extension ObjectIdentifier {
  /// Bits to choose one of a few places by. The lowest bits of an address are all the same.
  @inline(__always)
  fileprivate var hashBits: Int {
    let address = Int(bitPattern: self)
    return address >> 4 ^ address >> 9
  }
}

/// The roles of all types that were looked up.
///
/// All threads that read documents look types up at the same time, so none of them may wait for another one. A role is
/// added once and never removed: each chain only grows at its end.
final class TypeRegistry<Role: AnyObject & Sendable>: Sendable {
  private class Chain: @unchecked Sendable {
    // `@unchecked Sendable` is right because this class and its subclass have only constants, and this one is atomic.
    let next = AtomicLazyReference<Entry>()
  }

  private final class Entry: Chain, @unchecked Sendable {
    let type: ObjectIdentifier
    let role: Role

    init(_ type: ObjectIdentifier, _ role: Role) { (self.type, self.role) = (type, role) }
  }

  private let chains = (0..<256).map { _ in Chain() }

  /// Finds the role of a type. Of two threads that make it, one has its role discarded.
  /// - Parameter make: Makes the role, and may look up other types.
  func role(of type: Any.Type, make: () -> Role) -> Role {
    let id = ObjectIdentifier(type)
    var made: Entry?
    var chain = chains[id.hashBits & (chains.count - 1)]
    while true {
      let entry: Entry
      if let known = chain.next.load() {
        entry = known
      } else {
        let new = made ?? Entry(id, make())
        made = new
        entry = chain.next.storeIfNil(new)
      }
      if entry.type == id { return entry.role }
      chain = entry
    }
  }
}
