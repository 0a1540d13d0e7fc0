import Testing

@testable import SharedState

/// The registry that all threads ask for the decoding of a type.
@Suite("TypeRegistry", .timeLimit(.minutes(1)))
struct TypeRegistryTests {
  private final class Role: Sendable {
    let type: ObjectIdentifier

    init(_ type: ObjectIdentifier) { self.type = type }
  }

  /// Many types: arrays, arrays of arrays, and so on.
  private static let types: [any Any.Type] = sequence(first: Int.self as Any.Type) { type in
    func array<Element>(of _: Element.Type) -> Any.Type { [Element].self }
    return _openExistential(type, do: array)
  }
  .prefix(600).map { $0 }

  @Test("A type registry gives every thread the same role for a type, and each type its own role")
  func together() async {
    let registry = TypeRegistry<Role>()
    let found = await withTaskGroup(of: [ObjectIdentifier: ObjectIdentifier].self) { group in
      for task in 0..<8 {
        group.addTask {
          var roles: [ObjectIdentifier: ObjectIdentifier] = [:]
          for round in 0..<2 {
            for type in task % 2 == round ? Self.types : Self.types.reversed() {
              let id = ObjectIdentifier(type)
              let role = registry.role(of: type) { Role(id) }
              #expect(role.type == id)
              #expect(
                roles.updateValue(ObjectIdentifier(role), forKey: id) ?? ObjectIdentifier(role)
                  == ObjectIdentifier(role)
              )
            }
          }
          return roles
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(Set(found).count == 1)
    #expect(found.first.map { Set($0.values).count } == Self.types.count)
  }

  @Test("The creation of a role can look up the roles of other types recursively")
  func recursive() {
    let registry = TypeRegistry<Role>()
    func role(of types: ArraySlice<Any.Type>) -> Role? {
      guard let type = types.first else { return nil }
      return registry.role(of: type) {
        _ = role(of: types.dropFirst())
        return Role(ObjectIdentifier(type))
      }
    }
    #expect(role(of: Self.types[...])?.type == ObjectIdentifier(Int.self))
    for type in Self.types {
      let role = registry.role(of: type) { Role(ObjectIdentifier(String.self)) }
      #expect(role.type == ObjectIdentifier(type))
    }
  }
}
