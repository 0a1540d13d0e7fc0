/// Which state a value is: it and its copies are equal until one of them is changed.
public struct ObservableStateID: Hashable, Sendable {
  private enum Kind: Hashable, Sendable {
    case none
    case state(ObservationSubject, StateVersion)
    /// A case of an enum, and what is in it.
    indirect case enumeration(Int, Kind)
    case elements([ObservableStateID])
  }

  private var kind: Kind

  private init(_ kind: Kind) {
    self.kind = kind
  }

  /// That of a new state, which no other one has.
  public init() {
    self.init(ObservationSubject(), StateVersion())
  }

  init(_ subject: ObservationSubject, _ version: StateVersion) {
    kind = .state(subject, version)
  }

  /// That of no state at all.
  static let none = Self(.none)

  static func elements(_ elements: [Self]) -> Self { Self(.elements(elements)) }

  /// That of a case without a state.
  public static func `case`(_ number: Int) -> Self { Self(.enumeration(number, .none)) }

  /// That of a state in a case of an enum.
  public func `case`(_ number: Int) -> Self { Self(.enumeration(number, kind)) }

  /// Whether readers need not hear that another state takes the place of this one.
  ///
  /// Both are copies of what the state was when it was read last. They differ by what has been changed since then, and
  /// whoever had read that has heard of it.
  @usableFromInline
  func isContinued(by other: Self) -> Bool {
    Self.isContinued(kind, by: other.kind)
  }

  private static func isContinued(_ one: Kind, by other: Kind) -> Bool {
    switch (one, other) {
    case (.none, .none): true
    case (.state(let one, let version), .state(let other, let otherVersion)):
      one === other && isContinued(version, by: otherVersion, afterReadings: one.readings)
    case (.enumeration(let one, let state), .enumeration(let other, let otherState)):
      one == other && isContinued(state, by: otherState)
    case (.elements(let one), .elements(let other)):
      one.count == other.count && zip(one, other).allSatisfy { $0.isContinued(by: $1) }
    default: false
    }
  }

  private static func isContinued(
    _ version: StateVersion,
    by other: StateVersion,
    afterReadings readings: UInt64
  ) -> Bool {
    version.number(afterReadings: readings) == other.number(afterReadings: readings)
  }
}
