extension RedisHistory {
  /// Checks a history while it happens. It keeps no events, only what the guarantees depend on.
  public struct Judge: Sendable {
    /// The violations so far.
    public private(set) var violations: [Violation] = []

    private var validators: [(guarantee: Guarantee, validator: any Validator)]
    private var position = 0

    /// A judge of a history without events.
    public init(of guarantees: [Guarantee] = Guarantee.allCases) {
      validators = guarantees.map { ($0, $0.makeValidator()) }
    }

    /// Checks an event that happened after all others so far.
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

extension RedisHistory.Guarantee {
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
    case .fair: FairValidator()
    case .isolated: IsolatedValidator()
    case .bounded: BoundedValidator()
    }
  }
}
