/// Tells which children of a state have gone.
///
/// A child's state may go by anybody's hand: by the reducer before `ifLet` or the one behind it. So the presence of the
/// children is compared when all of them have run.
@usableFromInline
struct Children<State: Sendable, Action: Sendable>: Sendable {
  /// Who is present before an action.
  ///
  /// Of many elements only those are asked for their own children whose children have effects, or get the action.
  @usableFromInline
  let presence: @Sendable (State, Action?, LiveChildren) -> Presence

  /// Those of them who have effects in an action.
  @usableFromInline
  let acting: @Sendable ([ActingChild]) -> Presence

  /// The cancellation of the effects of those who were present and are not any more.
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

  /// Those of one reducer and of another one.
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

/// Who was present at a moment.
@usableFromInline
enum Presence: Sendable {
  case nobody
  case one(StateIdentity)
  /// One whose own children are present, too.
  indirect case family(StateIdentity, Presence)
  indirect case both(Presence, Presence)
  /// The identities of a stack, and who was present in some of its elements.
  case stack(StackIDs, [StackElementID: Presence])
  /// The same of an identified array, as `Elements`.
  case elements(any Sendable)

  /// The identity of the one; `nil` when nobody is present.
  @usableFromInline
  var identity: StateIdentity? {
    switch self {
    case .one(let identity), .family(let identity, _): identity
    default: nil
    }
  }
}
