/// Which state a value is: it and its copies are equal until one of them is changed by what is around it.
public struct ObservableStateID: Hashable, Sendable {
  private indirect enum Kind: Hashable, Sendable {
    case none
    case state(ObservationSubject, copy: UInt)
    /// A case of an enum, and what is in it.
    case enumeration(Int, Kind)
    case elements([ObservableStateID])
  }

  private var kind: Kind

  private init(_ kind: Kind) {
    self.kind = kind
  }

  /// That of a new state, which no other one has.
  public init() {
    kind = .state(ObservationSubject(), copy: 0)
  }

  init(_ subject: ObservationSubject, copy: UInt) {
    kind = .state(subject, copy: copy)
  }

  /// That of no state at all.
  static let none = Self(.none)

  static func elements(_ elements: [Self]) -> Self { Self(.elements(elements)) }

  /// That of a case without a state.
  public static func `case`(_ number: Int) -> Self { Self(.enumeration(number, .none)) }

  /// That of a state in a case of an enum.
  public func `case`(_ number: Int) -> Self { Self(.enumeration(number, kind)) }

  /// Whether it is the same state, or a copy of it, whoever has changed it meanwhile.
  public func isSameState(as other: Self) -> Bool {
    Self.isSame(kind, other.kind)
  }

  private static func isSame(_ one: Kind, _ other: Kind) -> Bool {
    switch (one, other) {
    case (.none, .none): true
    case (.state(let one, _), .state(let other, _)): one === other
    case (.enumeration(let one, let state), .enumeration(let other, let otherState)):
      one == other && isSame(state, otherState)
    case (.elements(let one), .elements(let other)):
      one.count == other.count && zip(one, other).allSatisfy { $0.isSameState(as: $1) }
    default: false
    }
  }
}
