/// Who asks a key to save its value.
public enum SaveContext: Hashable, Sendable {
  /// A mutation.
  case didSet

  /// An explicit `save()`.
  case userInitiated
}
