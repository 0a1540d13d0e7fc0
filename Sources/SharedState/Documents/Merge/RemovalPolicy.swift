/// What comes of a field, an entry or an element that one service removes while another one changes it.
public enum RemovalPolicy: Hashable, Sendable, CaseIterable {
  /// What the later commit did, as where both changed it.
  case laterWins
  /// It stays, with the change: for carts.
  case changeWins
  /// It goes: for revocations.
  case removalWins
}
