import CustomDump
import SharedState
public import SharedStateStore

extension TestStore {
  /// Asserts that an effect has sent an action, and how that action changes the state.
  ///
  /// It waits for the action as long as an effect runs that could send it.
  /// - Parameters:
  ///   - expectedAction: The action.
  ///   - timeout: How long to wait; by default ``timeout``.
  ///   - updateStateToExpectedResult: Turns the previous state into the expected one; `nil` when no change is expected.
  public func receive(
    isolation: isolated (any Actor)? = #isolation,
    _ expectedAction: Action,
    timeout: Duration? = nil,
    assert updateStateToExpectedResult: ((_ state: inout State) throws -> Void)? = nil,
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) async where Action: Equatable {
    await receive(
      Expected(expectedAction),
      timeout: timeout,
      updateStateToExpectedResult,
      at: CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    )
  }

  /// Asserts that an effect has sent an action for which a predicate is true, and how that action changes the state.
  public func receive(
    isolation: isolated (any Actor)? = #isolation,
    _ isMatching: @escaping (_ action: Action) -> Bool,
    timeout: Duration? = nil,
    assert updateStateToExpectedResult: ((_ state: inout State) throws -> Void)? = nil,
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) async {
    await receive(
      Expected(matching: "predicate", fits: isMatching),
      timeout: timeout,
      updateStateToExpectedResult,
      at: CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    )
  }

  /// Asserts that an effect has sent an action of a case, by a case key path, and how that action changes the state.
  public func receive<Value>(
    isolation: isolated (any Actor)? = #isolation,
    _ actionCase: CaseKeyPath<Action, Value>,
    timeout: Duration? = nil,
    assert updateStateToExpectedResult: ((_ state: inout State) throws -> Void)? = nil,
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) async {
    await receive(
      AnyCasePath(actionCase),
      timeout: timeout,
      assert: updateStateToExpectedResult,
      fileID: fileID,
      filePath: filePath,
      line: line,
      column: column
    )
  }

  /// Asserts that an effect has sent an action of a case, by a case path, and how that action changes the state.
  public func receive<Value>(
    isolation: isolated (any Actor)? = #isolation,
    _ actionCase: AnyCasePath<Action, Value>,
    timeout: Duration? = nil,
    assert updateStateToExpectedResult: ((_ state: inout State) throws -> Void)? = nil,
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) async {
    await receive(
      Expected(matching: "case path") { actionCase.extract(from: $0) != nil },
      timeout: timeout,
      updateStateToExpectedResult,
      at: CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    )
  }

  /// Asserts that an effect has sent an action of a case with a certain value, and how that action changes the state.
  public func receive<Value: Equatable>(
    isolation: isolated (any Actor)? = #isolation,
    _ actionCase: CaseKeyPath<Action, Value>,
    _ value: Value,
    timeout: Duration? = nil,
    assert updateStateToExpectedResult: ((_ state: inout State) throws -> Void)? = nil,
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) async {
    let path = AnyCasePath(actionCase)
    await receive(
      Expected(path.embed(value)) { path.extract(from: $0) == value },
      timeout: timeout,
      updateStateToExpectedResult,
      at: CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    )
  }
}
