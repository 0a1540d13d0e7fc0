public import SharedStateRedis
public import Testing

/// Expects an error of Redis with a code.
///
/// ```swift
/// await #expect(throws: RedisSharedStateError.Code.rejected) { try await $limit.save() }
/// ```
///
/// The other details of the error may change in later versions.
///
/// - Parameters:
///   - code: The expected code.
///   - comment: A comment for the issue.
///   - sourceLocation: The place of the issue.
///   - expression: The code that is expected to throw.
/// - Returns: The error; `nil`: the expectation was not met.
@freestanding(expression)
@discardableResult
public macro expect<Result>(
  throws code: RedisSharedStateError.Code,
  _ comment: @autoclosure () -> Comment? = nil,
  sourceLocation: SourceLocation = #_sourceLocation,
  performing expression: () async throws -> Result
) -> RedisSharedStateError? = #externalMacro(module: "SharedStateMacros", type: "ExpectationMacro")

/// Requires an error of Redis with a code, and throws ``MissingError`` if there is none.
///
/// - Parameters:
///   - code: The required code.
///   - comment: A comment for the issue.
///   - sourceLocation: The place of the issue.
///   - expression: The code that has to throw.
/// - Returns: The error.
@freestanding(expression)
@discardableResult
public macro require<Result>(
  throws code: RedisSharedStateError.Code,
  _ comment: @autoclosure () -> Comment? = nil,
  sourceLocation: SourceLocation = #_sourceLocation,
  performing expression: () async throws -> Result
) -> RedisSharedStateError = #externalMacro(module: "SharedStateMacros", type: "ExpectationMacro")

/// The expansion of `#expect(throws:performing:)`.
@discardableResult
public func _expect<Result>(
  throws code: RedisSharedStateError.Code,
  _ comment: @autoclosure () -> Comment? = nil,
  sourceLocation: SourceLocation = #_sourceLocation,
  performing expression: () throws -> Result
) -> RedisSharedStateError? {
  var outcome: (any Error)?
  do { _ = try expression() } catch { outcome = error }
  return error(outcome, with: code, comment(), sourceLocation)
}

/// The expansion of `#expect(throws:performing:)`.
@discardableResult
public nonisolated(nonsending) func _expect<Result>(
  throws code: RedisSharedStateError.Code,
  _ comment: @autoclosure () -> Comment? = nil,
  sourceLocation: SourceLocation = #_sourceLocation,
  performing expression: nonisolated(nonsending) () async throws -> Result
) async -> RedisSharedStateError? {
  var outcome: (any Error)?
  do { _ = try await expression() } catch { outcome = error }
  return error(outcome, with: code, comment(), sourceLocation)
}

/// The expansion of `#require(throws:performing:)`.
@discardableResult
public func _require<Result>(
  throws code: RedisSharedStateError.Code,
  _ comment: @autoclosure () -> Comment? = nil,
  sourceLocation: SourceLocation = #_sourceLocation,
  performing expression: () throws -> Result
) throws -> RedisSharedStateError {
  let error = _expect(throws: code, comment(), sourceLocation: sourceLocation, performing: expression)
  guard let error else { throw MissingError(code: code) }
  return error
}

/// The expansion of `#require(throws:performing:)`.
@discardableResult
public nonisolated(nonsending) func _require<Result>(
  throws code: RedisSharedStateError.Code,
  _ comment: @autoclosure () -> Comment? = nil,
  sourceLocation: SourceLocation = #_sourceLocation,
  performing expression: nonisolated(nonsending) () async throws -> Result
) async throws -> RedisSharedStateError {
  let error = await _expect(throws: code, comment(), sourceLocation: sourceLocation, performing: expression)
  guard let error else { throw MissingError(code: code) }
  return error
}

/// The error of `#require(throws:performing:)`. The issue was recorded already.
public struct MissingError: Error {
  /// The code that was required.
  public let code: RedisSharedStateError.Code
}

/// The expected error; otherwise records an issue.
private func error(
  _ outcome: (any Error)?,
  with code: RedisSharedStateError.Code,
  _ comment: Comment?,
  _ sourceLocation: SourceLocation
) -> RedisSharedStateError? {
  if let error = outcome as? RedisSharedStateError, error.code == code { return error }
  let found = outcome.map { "\($0) was thrown" } ?? "no error was thrown"
  Issue.record(
    "An error with the code '\(code)' was expected, but \(found).\(comment.map { " \($0)" } ?? "")",
    sourceLocation: sourceLocation
  )
  return nil
}
