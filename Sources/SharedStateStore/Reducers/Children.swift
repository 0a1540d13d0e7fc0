/// Finds the children of a state that were removed.
///
/// Any reducer may remove the state of a child: the one before `ifLet` or the one behind it. So the children that are
/// present are compared after all reducers have run.
@usableFromInline
struct Children<State: Sendable, Action: Sendable>: Sendable {
  /// The children that are present before an action.
  ///
  /// For an array of many elements, only some elements are asked for their own children: those whose children have
  /// effects, and the one that receives the action.
  @usableFromInline
  let presence: @Sendable (State, Action?, LiveChildren) -> Presence

  /// The children that have effects from an action.
  @usableFromInline
  let acting: @Sendable ([ActingChild]) -> Presence

  /// The cancellation of the effects of children that were present before and were removed.
  @usableFromInline
  let farewell: @Sendable (Presence, State) -> Effect<Action>

  @usableFromInline
  init(
    presence: @escaping @Sendable (State, Action?, LiveChildren) -> Presence,
    acting: @escaping @Sendable ([ActingChild]) -> Presence,
    farewell: @escaping @Sendable (Presence, State) -> Effect<Action>
  ) {
    self.presence = presence
    self.acting = acting
    self.farewell = farewell
  }

  /// The children of two reducers.
  @usableFromInline
  static func joining(_ first: Self?, _ second: Self?) -> Self? {
    guard let first else { return second }
    guard let second else { return first }
    return Self { state, action, live in
      .both(first.presence(state, action, live), second.presence(state, action, live))
    } acting: { children in
      .both(first.acting(children), second.acting(children))
    } farewell: { before, state in
      guard case .both(let one, let other) = before else { return .none }
      return first.farewell(one, state).merge(with: second.farewell(other, state))
    }
  }
}

/// The children that were present at a moment.
@usableFromInline
enum Presence: Sendable {
  case nobody
  case one(StateIdentity)
  /// A child that has children present itself.
  indirect case family(StateIdentity, Presence)
  indirect case both(Presence, Presence)
  /// The identities of a stack, and the children that were present in some of its elements.
  case stack(StackIDs, [StackElementID: Presence])
  /// The same for an identified array, as `Elements`.
  case elements(any Sendable)

  /// The identity of the only child; `nil` when no child is present.
  @usableFromInline
  var identity: StateIdentity? {
    switch self {
    case .one(let identity), .family(let identity, _): identity
    default: nil
    }
  }
}
