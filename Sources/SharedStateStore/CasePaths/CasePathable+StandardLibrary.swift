extension Optional: CasePathable {
  /// The paths of `nil` and of a value.
  public struct AllCasePaths: Sendable {
    /// The path of `nil`.
    public var none: AnyCasePath<Wrapped?, Void> {
      AnyCasePath(embed: { nil }, extract: { $0 == nil ? () : nil })
    }

    /// The path of a value.
    public var some: AnyCasePath<Wrapped?, Wrapped> {
      AnyCasePath(embed: { $0 }, extract: { $0 })
    }
  }

  /// The paths of `nil` and of a value.
  public static var allCasePaths: AllCasePaths { AllCasePaths() }
}

extension Result: CasePathable {
  /// The paths of a success and a failure.
  public struct AllCasePaths: Sendable {
    /// The path of a value.
    public var success: AnyCasePath<Result, Success> {
      AnyCasePath(embed: { .success($0) }, extract: { if case .success(let value) = $0 { value } else { nil } })
    }

    /// The path of an error.
    public var failure: AnyCasePath<Result, Failure> {
      AnyCasePath(embed: { .failure($0) }, extract: { if case .failure(let error) = $0 { error } else { nil } })
    }
  }

  /// The paths of a success and a failure.
  public static var allCasePaths: AllCasePaths { AllCasePaths() }
}
