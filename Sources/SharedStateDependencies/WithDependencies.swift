import IssueReporting

/// Overrides dependencies while an operation runs.
///
/// ```swift
/// let model = withDependencies {
///   $0.greeter = Greeter(name: "Blob")
/// } operation: {
///   Model()
/// }
/// ```
///
/// The overrides hold for the operation and for the tasks that it starts, and add to those in force. An object that the
/// operation returns remembers them, for ``withDependencies(from:operation:fileID:filePath:line:column:)``. If nested
/// calls return the same object, it remembers the overrides of the innermost; if it holds a ``Dependency``, those in
/// force when it was created.
/// - Parameters:
///   - updateValues: Changes a copy of the values in force. Reading a value here is no use of it.
///   - operation: The code that runs with the changed values.
/// - Returns: The result of the operation.
/// - Throws: The error of either closure.
@discardableResult
public func withDependencies<Result>(
  _ updateValues: (inout DependencyValues) throws -> Void,
  operation: () throws -> Result
) rethrows -> Result {
  var values = DependencyValues.captured
  try values.update(by: updateValues)
  let start = DependencyObjects.shared.registrationCount
  let result = try values.inForce(operation)
  DependencyObjects.shared.register(result, values: values, since: start)
  return result
}

/// Overrides dependencies while an asynchronous operation runs.
///
/// Otherwise the same as the synchronous function.
/// - Parameters:
///   - isolation: The actor that everything runs on.
///   - updateValues: Changes a copy of the values in force. Reading a value here is no use of it.
///   - operation: The code that runs with the changed values.
/// - Returns: The result of the operation.
/// - Throws: The error of either closure.
@discardableResult
public func withDependencies<Result>(
  isolation: isolated (any Actor)? = #isolation,
  _ updateValues: (inout DependencyValues) async throws -> Void,
  operation: () async throws -> Result
) async rethrows -> Result {
  var values = DependencyValues.captured
  try await values.update(isolation: isolation, by: updateValues)
  let start = DependencyObjects.shared.registrationCount
  let result = try await values.inForce(isolation: isolation, operation)
  DependencyObjects.shared.register(result, values: values, since: start)
  return result
}

/// Runs an operation with the dependencies of an object, so that objects which it creates share them, and overrides
/// some.
///
/// The object must hold a ``Dependency`` or have been created inside `withDependencies`; otherwise an issue is reported
/// and the values in force are used. An override in force takes precedence over one that the object remembers.
/// - Parameters:
///   - model: The object whose dependencies are propagated.
///   - updateValues: Changes the object's values for the operation.
///   - operation: The code that runs with the changed values.
/// - Returns: The result of the operation.
/// - Throws: The error of either closure.
@discardableResult
public func withDependencies<Model: AnyObject, Result>(
  from model: Model,
  _ updateValues: (inout DependencyValues) throws -> Void,
  operation: () throws -> Result,
  fileID: StaticString = #fileID,
  filePath: StaticString = #filePath,
  line: UInt = #line,
  column: UInt = #column
) rethrows -> Result {
  let access = DependencyAccess(fileID: fileID, filePath: filePath, line: line, column: column)
  return try DependencyValues.$current.withValue(propagatedValues(from: model, access: access)) {
    try withDependencies(updateValues, operation: operation)
  }
}

/// Runs an operation with the dependencies of an object, so that objects which it creates share them.
/// - Parameters:
///   - model: The object whose dependencies are propagated.
///   - operation: The code that runs with the object's values.
/// - Returns: The result of the operation.
/// - Throws: The error of the operation.
@discardableResult
public func withDependencies<Model: AnyObject, Result>(
  from model: Model,
  operation: () throws -> Result,
  fileID: StaticString = #fileID,
  filePath: StaticString = #filePath,
  line: UInt = #line,
  column: UInt = #column
) rethrows -> Result {
  try withDependencies(
    from: model,
    { _ in },
    operation: operation,
    fileID: fileID,
    filePath: filePath,
    line: line,
    column: column
  )
}

/// Runs an asynchronous operation with the dependencies of an object, and overrides some.
///
/// Otherwise the same as the synchronous function.
/// - Parameters:
///   - isolation: The actor that everything runs on.
///   - model: The object whose dependencies are propagated.
///   - updateValues: Changes the object's values for the operation.
///   - operation: The code that runs with the changed values.
/// - Returns: The result of the operation.
/// - Throws: The error of either closure.
@discardableResult
public func withDependencies<Model: AnyObject, Result>(
  isolation: isolated (any Actor)? = #isolation,
  from model: Model,
  _ updateValues: (inout DependencyValues) async throws -> Void,
  operation: () async throws -> Result,
  fileID: StaticString = #fileID,
  filePath: StaticString = #filePath,
  line: UInt = #line,
  column: UInt = #column
) async rethrows -> Result {
  let access = DependencyAccess(fileID: fileID, filePath: filePath, line: line, column: column)
  return try await DependencyValues.$current.withValue(
    propagatedValues(from: model, access: access),
    operation: { try await withDependencies(isolation: isolation, updateValues, operation: operation) },
    isolation: isolation
  )
}

/// Runs an asynchronous operation with the dependencies of an object.
/// - Parameters:
///   - isolation: The actor that everything runs on.
///   - model: The object whose dependencies are propagated.
///   - operation: The code that runs with the object's values.
/// - Returns: The result of the operation.
/// - Throws: The error of the operation.
@discardableResult
public func withDependencies<Model: AnyObject, Result>(
  isolation: isolated (any Actor)? = #isolation,
  from model: Model,
  operation: () async throws -> Result,
  fileID: StaticString = #fileID,
  filePath: StaticString = #filePath,
  line: UInt = #line,
  column: UInt = #column
) async rethrows -> Result {
  try await withDependencies(
    isolation: isolation,
    from: model,
    { _ in },
    operation: operation,
    fileID: fileID,
    filePath: filePath,
    line: line,
    column: column
  )
}

/// The values in force on top of those of an object.
private func propagatedValues(from model: AnyObject, access: DependencyAccess) -> DependencyValues {
  guard let values = DependencyObjects.shared.values(of: model) else {
    reportIssue(
      """
      \(type(of: model)) has no dependencies to propagate. \
      Let it hold a '@Dependency', or create it inside 'withDependencies'.
      """,
      fileID: access.fileID,
      filePath: access.filePath,
      line: access.line,
      column: access.column
    )
    return .current
  }
  return values.merging(.current)
}
