/// The identities of a stack at a moment.
@usableFromInline
struct StackIDs: Sendable {
  @usableFromInline
  let ids: [StackElementID]
  /// Whether each is younger than the one below.
  @usableFromInline
  let isInOrder: Bool

  @inlinable
  init(ids: [StackElementID], isInOrder: Bool) {
    self.ids = ids
    self.isInOrder = isInOrder
  }
}
