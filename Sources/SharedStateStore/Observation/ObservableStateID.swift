/// The identity of a state: it and its copies are equal until one of them is changed.
public struct ObservableStateID: Hashable, Sendable {
  private enum Kind: Hashable, Sendable {
    case none
    case state(ObservationSubject, StateVersion)
    /// A case of an enum, and the identity of its content.
    indirect case enumeration(Int, Kind)
    case elements([ObservableStateID])
  }

  private var kind: Kind

  private init(_ kind: Kind) {
    self.kind = kind
  }

  /// The identity of a new state, which no other one has.
  public init() {
    self.init(ObservationSubject(), StateVersion())
  }

  init(_ subject: ObservationSubject, _ version: StateVersion) {
    kind = .state(subject, version)
  }

  /// The identity of an absent state.
  static let none = Self(.none)

  static func elements(_ elements: [Self]) -> Self { Self(.elements(elements)) }

  /// The identity of a case without a state.
  public static func `case`(_ number: Int) -> Self { Self(.enumeration(number, .none)) }

  /// The identity of a state in a case of an enum.
  public func `case`(_ number: Int) -> Self { Self(.enumeration(number, kind)) }

  /// Whether readers need not be notified that another state replaces this one.
  ///
  /// That is so if both are copies of the state as it was last read. They differ only by changes since then, and the
  /// readers of the changed parts have been notified of those.
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
