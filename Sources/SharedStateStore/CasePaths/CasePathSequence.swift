/// The case key paths of an enum, which `@CasePathable` makes a type of.
public protocol CasePathSequence<_$Root>: Sequence, Sendable where Element == PartialCaseKeyPath<_$Root> {
  /// The enum.
  associatedtype _$Root
}

extension CasePathSequence {
  /// The path of the case that a value is in. What is not always available has no place in it.
  /// - Complexity: O(n) in the number of cases.
  public subscript(root: _$Root) -> PartialCaseKeyPath<_$Root> {
    first { $0.contains(root) } ?? \._$never
  }
}
