/// A value together with an identity, for elements that have none of their own.
///
/// ```swift
/// var colors: IdentifiedArrayOf<Identified<String, Color>> = [Identified(.red, id: "title")]
/// colors[id: "title"]?.value = .blue
/// ```
///
/// The properties of the value are also properties of this type.
@dynamicMemberLookup
public struct Identified<ID: Hashable, Value>: Identifiable {
  /// Distinguishes this value from others.
  public let id: ID

  /// The value.
  public var value: Value

  /// Makes a value with an identity.
  public init(_ value: Value, id: ID) {
    self.id = id
    self.value = value
  }

  /// Takes the identity from a property of a value. The identity stays the same when the value changes.
  public init(_ value: Value, id: KeyPath<Value, ID>) {
    self.init(value, id: value[keyPath: id])
  }

  /// A property of the value.
  public subscript<Member>(dynamicMember keyPath: KeyPath<Value, Member>) -> Member {
    value[keyPath: keyPath]
  }

  /// A property of the value, which can be changed.
  public subscript<Member>(dynamicMember keyPath: WritableKeyPath<Value, Member>) -> Member {
    get { value[keyPath: keyPath] }
    set { value[keyPath: keyPath] = newValue }
  }
}

extension Identified: Sendable where ID: Sendable, Value: Sendable {}

extension Identified: Equatable where Value: Equatable {}

extension Identified: Hashable where Value: Hashable {}

extension Identified: Encodable where ID: Encodable, Value: Encodable {}

extension Identified: Decodable where ID: Decodable, Value: Decodable {}
