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
/// The overrides hold for the operation and for the tasks that it starts, and add to those in force. A ``Dependency``
/// that is created meanwhile remembers them.
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
  return try values.inForce(operation)
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
  return try await values.inForce(isolation: isolation, operation)
}
