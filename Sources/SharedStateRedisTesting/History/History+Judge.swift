extension History {
  /// Judges a history while it happens. It keeps what the guarantees are about, and no events.
  public struct Judge: Sendable {
    /// What is broken so far.
    public private(set) var violations: [Violation] = []

    private var validators: [(guarantee: Guarantee, validator: any Validator)]
    private var position = 0

    /// Nothing has happened yet.
    public init(of guarantees: [Guarantee] = Guarantee.allCases) {
      validators = guarantees.map { ($0, $0.makeValidator()) }
    }

    /// Takes in what has happened after everything so far.
    public mutating func record(_ event: Event) {
      for index in validators.indices {
        for text in validators[index].validator.observe(event, at: position) {
          violations.append(Violation(guarantee: validators[index].guarantee, text: text, position: position))
        }
      }
      position += 1
    }
  }
}

extension Guarantee {
  fileprivate func makeValidator() -> any Validator {
    switch self {
    case .ordered: OrderedValidator()
    case .noEcho: NoEchoValidator()
    case .converges: ConvergesValidator()
    case .pendingSurvives: PendingSurvivesValidator()
    case .acknowledgedSurvives: AcknowledgedSurvivesValidator()
    case .exactlyOnceUpdates: ExactlyOnceUpdatesValidator()
    case .fieldsMerge: FieldsMergeValidator()
    case .foreignEditsSeen: ForeignEditsSeenValidator()
    case .badDataHeld: BadDataHeldValidator()
    case .isolated: IsolatedValidator()
    case .bounded: BoundedValidator()
    }
  }
}
