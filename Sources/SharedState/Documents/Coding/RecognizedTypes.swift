import Synchronization

/// The roles of recent types, found without a lock.
struct RecognizedTypes<Role: AnyObject> {
  private var entries: ContiguousArray<(type: ObjectIdentifier, role: Role)?> = []

  private static var size: Int { 32 }

  /// Finds the role of a type, and remembers it.
  @inline(__always)
  mutating func role(of type: Any.Type, _ find: () -> Role) -> Role {
    let id = ObjectIdentifier(type)
    // The lowest bits of an address are all the same.
    let index = (id.hashBits >> 4 ^ id.hashBits >> 9) & (Self.size - 1)
    if !entries.isEmpty, let entry = entries[index], entry.type == id { return entry.role }
    if entries.isEmpty { entries = ContiguousArray(repeating: nil, count: Self.size) }
    let role = find()
    entries[index] = (id, role)
    return role
  }
}

extension ObjectIdentifier {
  @inline(__always)
  fileprivate var hashBits: Int { Int(bitPattern: self) }
}

/// The roles of all types that were looked up.
final class TypeRegistry<Role: AnyObject & Sendable>: Sendable {
  private let roles = Mutex<[ObjectIdentifier: Role]>([:])

  /// Finds the role of a type.
  /// - Parameter make: Makes the role, and may look up other types.
  func role(of type: Any.Type, make: () -> Role) -> Role {
    let id = ObjectIdentifier(type)
    if let known = roles.withLock({ $0[id] }) { return known }
    let role = make()
    return roles.withLock { roles in
      if let known = roles[id] { return known }
      roles[id] = role
      return role
    }
  }
}
