/// What happens to a local change when another client has changed the value at the same time.
public enum ConflictPolicy: Hashable, Sendable {
  /// Both changes are kept if they are to different fields. If they are to the same field, the later commit wins.
  /// Fields unknown to this service are never touched.
  case merge
  /// The later commit wins and replaces the whole value.
  case lastWriteWins
  /// The local change is rolled back, and `saveError` is a ``RedisSharedStateError/Code/conflict``.
  case reject
}

extension ConflictPolicy {
  /// Whether a local change keeps what others have changed since, instead of replacing the whole document.
  var keepsOtherChanges: Bool {
    switch self {
    case .merge, .reject: true
    case .lastWriteWins: false
    }
  }

  /// Whether two histories of one value are merged.
  var mergesHistories: Bool {
    switch self {
    case .merge: true
    case .lastWriteWins, .reject: false
    }
  }

  /// Whether a local change is rolled back when another one was stored first.
  var rollsBack: Bool {
    switch self {
    case .reject: true
    case .merge, .lastWriteWins: false
    }
  }
}
