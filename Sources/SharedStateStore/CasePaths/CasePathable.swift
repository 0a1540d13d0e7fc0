import IssueReporting

/// An enum whose cases have key paths.
///
/// The macro `@CasePathable` makes everything that it needs.
public protocol CasePathable: SendableMetatype {
  /// Has a property of type ``AnyCasePath`` for each case.
  associatedtype AllCasePaths: Sendable

  /// The paths of all cases.
  static var allCasePaths: AllCasePaths { get }
}

extension CasePathable {
  /// What the key paths of its cases begin with, as in `\Action.Cases.child`.
  public typealias Cases = Case<Self>

  /// The value of a case; `nil` when this is another one.
  public subscript<Value>(case keyPath: CaseKeyPath<Self, Value>) -> Value? {
    AnyCasePath(keyPath).extract(from: self)
  }

  /// Changes to a case with a value, whatever this was before.
  @_disfavoredOverload
  public subscript<Value>(case keyPath: CaseKeyPath<Self, Value>) -> Value {
    @available(*, unavailable, message: "There may be another case. Use the optional value.")
    get { fatalError("There may be another case. Use the optional value.") }
    set { self = AnyCasePath(keyPath).embed(newValue) }
  }

  /// The value of a case; `nil` when this is another one. For an enum that is `@dynamicMemberLookup`.
  public subscript<Value>(dynamicMember keyPath: CaseKeyPath<Self, Value>) -> Value? {
    AnyCasePath(keyPath).extract(from: self)
  }

  /// Changes the value of a case in place. Reports an issue, and changes nothing, when this is another one.
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
