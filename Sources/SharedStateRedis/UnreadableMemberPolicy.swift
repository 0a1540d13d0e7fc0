/// What a share does when some members, entries or elements of a stored document cannot be read, such as a flag with a
/// case that only a newer release knows.
public enum UnreadableMemberPolicy: Hashable, Sendable, CaseIterable {
  /// The document counts as unreadable: the share keeps its whole value, and local changes wait.
  case hold
  /// Each of them keeps the value that the share has shown last. One without such a value has its default, or is absent.
  case keepLast
  /// Each of them has its value of the share's default, or is absent.
  case useDefault
}
