extension Task where Success == Never, Failure == Never {
  /// Ends effects that have an id, and operations of ``withTaskCancellation(id:cancelInFlight:isolation:operation:)``.
  ///
  /// Inside an effect the id belongs to that effect's feature, as in ``Effect/cancel(id:)``. Elsewhere it belongs to
  /// operations outside of all stores.
  public static func cancel(id: some Hashable & Sendable) {
    let context = EffectContext.current
    let registry = context?.registry ?? .process
    for stop in registry.markCancelled(id: EffectID(id), path: context?.path ?? []) { stop() }
  }
}

/// Runs an operation that ends when its id is cancelled, by an effect or by `Task.cancel(id:)`.
///
/// - Parameters:
///   - id: The id that cancels the operation. Inside an effect the id belongs to that effect's feature.
///   - cancelInFlight: Whether running operations with the id end first.
///   - isolation: The isolation of the caller.
///   - operation: The operation, which runs in a task of its own.
/// - Returns: The result of the operation.
/// - Throws: The error of the operation.
public func withTaskCancellation<Value: Sendable, Failure: Error>(
  id: some Hashable & Sendable,
  cancelInFlight: Bool = false,
  isolation: isolated (any Actor)? = #isolation,
  operation: @escaping @Sendable () async throws(Failure) -> Value
) async throws(Failure) -> Value {
  if cancelInFlight { Task.cancel(id: id) }
  let context = EffectContext.current
  let registry = context?.registry ?? .process
  let path = context?.path ?? []
  let node = context.map { EffectNode(in: $0.node) } ?? EffectNode()
  registry.register(node, id: EffectID(id), path: path)
  let inner = EffectContext(
    registry: registry,
    node: node,
    path: path,
    dismiss: context?.dismiss,
    dismissAlone: context?.dismissAlone
  )
  let task = Task { () async -> Result<Value, Failure> in
    let result = await EffectContext.$current.withValue(inner) { () async -> Result<Value, Failure> in
      do throws(Failure) { return .success(try await operation()) } catch { return .failure(error) }
    }
    node.end()
    return result
  }
  node.whenCancelled { task.cancel() }
  let result = await withTaskCancellationHandler {
    await task.value
  } onCancel: {
    task.cancel()
  }
  return try result.get()
}
