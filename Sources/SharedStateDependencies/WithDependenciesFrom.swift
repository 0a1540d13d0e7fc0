import IssueReporting

/// Runs an operation with the dependencies of an object, such as the one that makes another one.
///
/// ```swift
/// func detailButtonTapped() {
///   detail = withDependencies(from: self) { DetailModel() }
/// }
/// ```
///
/// The values are those that the first ``Dependency`` in the object remembers, overridden by those in force. An object
/// without any is reported as an issue, also where `withDependencies` has made the object: nothing else remembers them,
/// and what remembers them keeps them alive.
/// - Parameters:
///   - model: An object with a property that is a ``Dependency``.
///   - updateValues: Changes a copy of the values.
///   - operation: The code that runs with the values.
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
  return try values(of: model, access).inForce { try withDependencies(updateValues, operation: operation) }
}

/// Runs an asynchronous operation with the dependencies of an object.
///
/// Otherwise the same as the synchronous function.
/// - Parameters:
///   - isolation: The actor that everything runs on.
///   - model: An object with a property that is a ``Dependency``.
///   - updateValues: Changes a copy of the values.
///   - operation: The code that runs with the values.
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
  return try await values(of: model, access).inForce(isolation: isolation) {
    try await withDependencies(isolation: isolation, updateValues, operation: operation)
  }
}

/// Runs an operation with the dependencies of an object, unchanged.
///
/// - Parameters:
///   - model: An object with a property that is a ``Dependency``.
///   - operation: The code that runs with the values.
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
  let access = DependencyAccess(fileID: fileID, filePath: filePath, line: line, column: column)
  return try values(of: model, access).inForce(operation)
}

/// Runs an asynchronous operation with the dependencies of an object, unchanged.
///
/// - Parameters:
///   - isolation: The actor that the operation runs on.
///   - model: An object with a property that is a ``Dependency``.
///   - operation: The code that runs with the values.
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
  let access = DependencyAccess(fileID: fileID, filePath: filePath, line: line, column: column)
  return try await values(of: model, access).inForce(isolation: isolation, operation)
}

/// The values that an object remembers, overridden by those in force.
private func values(of model: AnyObject, _ access: DependencyAccess) -> DependencyValues {
  var mirror: Mirror? = Mirror(reflecting: model)
  while let part = mirror {
    for child in part.children {
      if let dependency = child.value as? any RemembersDependencies {
        return dependency.initialValues.merging(.captured)
      }
    }
    mirror = part.superclassMirror
  }
  DependencyAccess.$current.withValue(access) {
    DependencyAccess.report(
      "'\(type(of: model))' has no '@Dependency', so it has no dependencies to pass on. Add one, or use 'withDependencies'."
    )
  }
  return .captured
}

/// A property wrapper that remembers the dependencies in force when it was made.
protocol RemembersDependencies {
  var initialValues: DependencyValues { get }
}

extension Dependency: RemembersDependencies {}
