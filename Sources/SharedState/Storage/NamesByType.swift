/// Knows which type of value each name is used with, and finds those that are used with two.
struct NamesByType {
  private var types: [Name: (type: ObjectIdentifier, text: String)] = [:]
  private var namesOfTwoTypes: Set<Name> = []

  /// Remembers that a name is used with a type of value.
  ///
  /// - Returns: The type that it was used with before, if that is another one, and for the first time only.
  mutating func insert(_ name: Name, as type: Any.Type) -> String? {
    guard let present = types[name] else {
      types[name] = (ObjectIdentifier(type), "\(type)")
      return nil
    }
    guard present.type != ObjectIdentifier(type), namesOfTwoTypes.insert(name).inserted else { return nil }
    return present.text
  }
}
