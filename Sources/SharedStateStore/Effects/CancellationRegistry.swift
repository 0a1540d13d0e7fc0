import Synchronization

/// Finds effects by their ids.
final class CancellationRegistry: Sendable {
  private struct Key: Hashable, @unchecked Sendable {
    // `@unchecked Sendable` is right because what `AnyHashable` hides is an `EffectID` or a `PathComponent`.
    let id: AnyHashable
    let path: EffectPath
  }

  private let nodes = Mutex<[Key: [ObjectIdentifier: EffectNode]]>([:])
  /// They stay as long as the store, for the time after an action counts when its effect has ended.
  private let throttles = Mutex<[Key: any Sendable]>([:])

  /// That of tasks which belong to no store.
  static let process = CancellationRegistry()

  /// Lets a node be found until it has ended: by the feature of the path, and by its parents.
  func register(_ node: EffectNode, id: EffectID, path: EffectPath) {
    insert(node, (0...path.count).map { Key(id: id, path: Array(path.prefix($0))) })
  }

  /// Lets a node be found that stands for what a child does.
  func register(_ node: EffectNode, child: PathComponent, path: EffectPath) {
    insert(node, [Key(id: child, path: path)])
  }

  /// The gate of effects that have an id.
  func throttle<Action, Instant>(id: EffectID, path: EffectPath) -> ThrottleGate<Action, Instant> {
    throttles.withLock { throttles in
      let key = Key(id: id, path: path)
      if let gate = throttles[key] as? ThrottleGate<Action, Instant> { return gate }
      let gate = ThrottleGate<Action, Instant>()
      throttles[key] = gate
      return gate
    }
  }

  private func insert(_ node: EffectNode, _ keys: [Key]) {
    nodes.withLock { nodes in
      for key in keys { nodes[key, default: [:]][ObjectIdentifier(node)] = node }
    }
    node.whenEnded { [weak self, weak node] in
      guard let self, let node else { return }
      remove(node, keys)
    }
  }

  private func remove(_ node: EffectNode, _ keys: [Key]) {
    nodes.withLock { nodes in
      for key in keys {
        nodes[key]?[ObjectIdentifier(node)] = nil
        if nodes[key]?.isEmpty == true { nodes[key] = nil }
      }
    }
  }

  /// Marks effects as cancelled.
  ///
  /// - Returns: What has to be called afterwards, without a lock.
  func markCancelled(id: EffectID, path: EffectPath) -> [@Sendable () -> Void] {
    markCancelled(Key(id: id, path: path))
  }

  /// Marks what a child does as cancelled.
  ///
  /// - Returns: What has to be called afterwards, without a lock.
  func markCancelled(child: PathComponent, path: EffectPath) -> [@Sendable () -> Void] {
    markCancelled(Key(id: child, path: path))
  }

  private func markCancelled(_ key: Key) -> [@Sendable () -> Void] {
    let found = nodes.withLock { $0[key] } ?? [:]
    return found.values.flatMap { $0.markCancelled() }
  }
}
