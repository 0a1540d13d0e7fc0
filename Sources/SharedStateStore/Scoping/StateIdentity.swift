/// The identity of a state, which stays the same when its other contents change.
@usableFromInline
enum StateIdentity: Hashable, @unchecked Sendable {
  // `@unchecked Sendable` is right because identities of states are only compared, and those of a `Sendable` state are
  // values.

  /// A number that no other identity of this process has.
  case number(UInt64)
  /// An element of a stack.
  case element(StackElementID)
  /// The case of an enum, and the identity of its value.
  case enumeration(tag: UInt32, payload: AnyHashable?)
  /// The identity of the value, such as its `id`.
  case value(AnyHashable)
  /// A state without an identity: only its presence counts.
  case presence

  /// The identity of a state: its `id`, or its case.
  @usableFromInline
  init(of state: some Any) {
    if let id = Self.id(of: state) {
      self = .value(id)
    } else if let tag = EnumTag.of(state) {
      self = .enumeration(tag: tag, payload: Self.payload(of: state).flatMap { Self.id(of: $0) })
    } else {
      self = .presence
    }
  }

  private static func id<State>(of state: State) -> AnyHashable? {
    guard let state = state as? any Identifiable else { return nil }
    func id<Element: Identifiable>(_ element: Element) -> AnyHashable { AnyHashable(element.id) }
    return id(state)
  }

  private static func payload(of state: some Any) -> Any? {
    Mirror(reflecting: state).children.first?.value
  }
}

/// Finds the case of an enum.
@usableFromInline
enum EnumTag {
  /// Whether a type is an enum.
  @usableFromInline
  static func isEnum<Value>(_ type: Value.Type) -> Bool {
    unsafeBitCast(type as Any.Type, to: UnsafePointer<UInt>.self).pointee == enumKind
  }

  /// The number of the case; `nil` for a value that is not an enum.
  @usableFromInline
  static func of<Value>(_ value: Value) -> UInt32? {
    // The layout of type metadata is part of Swift's stable binary interface: the kind is the first word, and the word
    // before it points to the value witnesses, of which the eleventh and following belong to enums. The kind is
    // compared first, so no other type is read as an enum.
    let metadata = unsafeBitCast(Value.self as Any.Type, to: UnsafePointer<UInt>.self)
    guard metadata.pointee == enumKind else { return nil }
    let witnesses = UnsafeRawPointer(bitPattern: metadata[-1])
    guard let witnesses else { return nil }
    typealias GetTag = @convention(c) (UnsafeRawPointer, UnsafeRawPointer) -> UInt32
    let getTag = (witnesses + getEnumTagOffset).loadUnaligned(as: GetTag.self)
    return withUnsafePointer(to: value) { getTag($0, metadata) }
  }

  private static var enumKind: UInt { 0x201 }

  /// Eight functions, then size and stride as words, flags and the count of extra inhabitants as half words.
  private static var getEnumTagOffset: Int { 10 * MemoryLayout<UInt>.size + 2 * MemoryLayout<UInt32>.size }
}
