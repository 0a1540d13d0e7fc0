import IssueReporting

/// An enum whose cases have key paths.
///
/// The macro `@CasePathable` makes all requirements.
public protocol CasePathable: SendableMetatype {
  /// Has a property of type ``AnyCasePath`` for each case.
  associatedtype AllCasePaths: Sendable

  /// The paths of all cases.
  static var allCasePaths: AllCasePaths { get }

  /// The actions of the child that `ifLet` runs on these actions.
  associatedtype _$ChildAction = Self

  /// A type that these actions share with the states of that child only.
  associatedtype _$Container = NotPresentationAction
}

extension CasePathable {
  /// The root of its case key paths, as in `\Action.Cases.child`.
  public typealias Cases = Case<Self>

  /// The value of a case; `nil` when this is in another case.
  public subscript<Value>(case keyPath: CaseKeyPath<Self, Value>) -> Value? {
    AnyCasePath(keyPath).extract(from: self)
  }

  /// Changes to a case with a value, whatever the previous case was.
  @_disfavoredOverload
  public subscript<Value>(case keyPath: CaseKeyPath<Self, Value>) -> Value {
    @available(*, unavailable, message: "The value may be in another case. Use the optional value.")
    get { fatalError("The value may be in another case. Use the optional value.") }
    set { self = AnyCasePath(keyPath).embed(newValue) }
  }

  /// The value of a case; `nil` when this is in another case. For an enum that is `@dynamicMemberLookup`.
  public subscript<Value>(dynamicMember keyPath: CaseKeyPath<Self, Value>) -> Value? {
    AnyCasePath(keyPath).extract(from: self)
  }

  /// Changes the value of a case in place. Reports an issue, and changes nothing, when this is in another case.
  public mutating func modify<Value>(
    _ keyPath: CaseKeyPath<Self, Value>,
    yield: (inout Value) -> Void,
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) {
    let path = AnyCasePath(keyPath)
    guard var value = path.extract(from: self) else {
      reportIssue(
        "Cannot modify \(String(describing: keyPath)): the value is \(String(describing: self)).",
        fileID: fileID,
        filePath: filePath,
        line: line,
        column: column
      )
      return
    }
    yield(&value)
    self = path.embed(value)
  }
}

/// The case key paths of an enum, as a sequence whose type `@CasePathable` makes.
public protocol CasePathSequence<_$Root>: Sequence, Sendable where Element == PartialCaseKeyPath<_$Root> {
  /// The enum.
  associatedtype _$Root
}

extension CasePathSequence {
  /// The path of the case that a value is in. A case that is not always available has no path here.
  /// - Complexity: O(n) in the number of cases.
  public subscript(root: _$Root) -> PartialCaseKeyPath<_$Root> {
    first { $0.contains(root) } ?? \._$never
  }
}

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
