/// What comes of a member, an entry or an element that one side has removed and the other changed.
package enum RemovalPolicy: Hashable, Sendable, CaseIterable {
  /// What the later commit did, as where both changed it.
  case laterWins
  /// It stays, with the change: for carts.
  case changeWins
  /// It goes: for revocations.
  case removalWins
}
