/// What a state stays the same by, whatever else of it changes.
@usableFromInline
enum StateIdentity: Hashable, @unchecked Sendable {
  // `@unchecked Sendable` is right because identities of states are compared only, and those of a `Sendable` state are
  // values.

  /// A number that no other identity of this process has.
  case number(UInt64)
  /// An element of a stack.
  case element(StackElementID)
  /// The case of an enum, and what its value says of itself.
  case enumeration(tag: UInt32, payload: AnyHashable?)
  /// What the value says of itself.
  case value(AnyHashable)
  /// Nothing but that it is there.
  case presence

  /// The identity of a state, by what it says of itself: its `id`, or the case that it is in.
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
