/// Who asks a key to save its value.
public enum SaveContext: Hashable, Sendable {
  /// A mutation.
  case didSet

  /// An explicit `save()`. What is stored and cannot be read stays: an author throws an error then.
  case userInitiated

  /// An explicit `save(replacingUnreadable: true)`: it replaces what is stored, whatever that is.
  case replacingUnreadable
}
