import Synchronization

/// Finds effects by their ids, and the effects of children.
@usableFromInline
final class CancellationRegistry: Sendable {
  private struct Key: Hashable, @unchecked Sendable {
    // `@unchecked Sendable` is right because the `AnyHashable` holds an `EffectID` or a `PathComponent`.
    let id: AnyHashable
    let path: EffectPath
  }

  /// A place where a feature has children.
  private struct Parent: Hashable, @unchecked Sendable {
    // `@unchecked Sendable` is right because the `AnyHashable` holds a key path of literals or a `ChildPlace`.
    let path: EffectPath
    let place: AnyHashable
  }

  private struct Contents {
    var nodes: [Key: [ObjectIdentifier: EffectNode]] = [:]
    /// For each child, the number of effects of its own children.
    var parents: [Parent: [StateIdentity: Int]] = [:]
  }

  private let contents = Mutex(Contents())
  private let parentCount = Atomic(0)
  private let childCount = Atomic(0)
  /// Gates stay as long as the store, because the time after an action counts even when its effect has ended.
  private let throttles = Mutex<[Key: any Sendable]>([:])

  /// The registry of tasks that belong to no store.
  static let process = CancellationRegistry()

  /// Registers a node under its id until it has ended, for the feature of the path and for that feature's parents.
  func register(_ node: EffectNode, id: EffectID, path: EffectPath) {
    insert(node, (0...path.count).map { Key(id: id, path: Array(path.prefix($0))) })
  }

  /// Registers a node that stands for the effects of a child.
  func register(_ node: EffectNode, child: PathComponent, path: EffectPath) {
    childCount.add(1, ordering: .relaxed)
    insert(node, [Key(id: child, path: path)])
    node.whenEnded { [weak self] in _ = self?.childCount.subtract(1, ordering: .relaxed) }
    if path.isEmpty { return }
    count(path, 1)
    node.whenEnded { [weak self] in self?.count(path, -1) }
  }

  /// Whether any child has effects.
  @usableFromInline
  var hasChildren: Bool { childCount.load(ordering: .relaxed) > 0 }

  /// Whether any child has a child with effects.
  var hasParents: Bool { parentCount.load(ordering: .relaxed) > 0 }

  /// The children at a place that have children with effects.
  func parents(at place: AnyKeyPath, path: EffectPath) -> [StateIdentity] {
    let parent = Parent(path: path, place: place)
    return contents.withLock { contents in contents.parents[parent].map { Array($0.keys) } ?? [] }
  }

  /// Counts an effect of a child for all of its ancestors.
  private func count(_ path: EffectPath, _ change: Int) {
    parentCount.wrappingAdd(change, ordering: .relaxed)
    contents.withLock { contents in
      for (depth, component) in path.enumerated() {
        let parent = Parent(path: Array(path.prefix(depth)), place: component.place)
        let count = contents.parents[parent]?[component.identity] ?? 0
        contents.parents[parent, default: [:]][component.identity] = count + change == 0 ? nil : count + change
        if contents.parents[parent]?.isEmpty == true { contents.parents[parent] = nil }
      }
    }
  }

  /// The gate of the effects with an id.
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
    contents.withLock { contents in
      for key in keys { contents.nodes[key, default: [:]][ObjectIdentifier(node)] = node }
    }
    node.whenEnded { [weak self, weak node] in
      guard let self, let node else { return }
      remove(node, keys)
    }
  }

  private func remove(_ node: EffectNode, _ keys: [Key]) {
    contents.withLock { contents in
      for key in keys {
        contents.nodes[key]?[ObjectIdentifier(node)] = nil
        if contents.nodes[key]?.isEmpty == true { contents.nodes[key] = nil }
      }
    }
  }

  /// Marks effects as cancelled.
  ///
  /// - Parameter part: A part of effects that are not cancelled, because they are just beginning.
  /// - Returns: Closures to call afterwards, without a lock.
  func markCancelled(id: EffectID, path: EffectPath, before part: EffectNode? = nil) -> [@Sendable () -> Void] {
    markCancelled(Key(id: id, path: path), before: part)
  }

  /// Marks the effects of a child as cancelled.
  ///
  /// - Returns: Closures to call afterwards, without a lock.
  func markCancelled(child: PathComponent, path: EffectPath) -> [@Sendable () -> Void] {
    markCancelled(Key(id: child, path: path))
  }

  private func markCancelled(_ key: Key, before part: EffectNode? = nil) -> [@Sendable () -> Void] {
    let found = contents.withLock { $0.nodes[key] } ?? [:]
    return found.values.flatMap { node in part?.isPart(of: node) == true ? [] : node.markCancelled() }
  }
}
