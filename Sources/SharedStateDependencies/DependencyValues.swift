import IssueReporting

/// The dependencies in force.
///
/// Extend it with a property for each dependency, on top of its ``subscript(_:)``. Read dependencies with
/// ``Dependency`` and override them with ``withDependencies(_:operation:)``.
///
/// The values in force are inherited by tasks, but neither by detached tasks nor by threads: those see the defaults
/// of the process, which a test shares with other tests. Carry values there with ``withEscapedDependencies(_:)``, or
/// use a ``Dependency`` that was created by the test.
public struct DependencyValues: Sendable {
  /// The values in force for the current task.
  @TaskLocal package static var current = DependencyValues()

  private(set) var overrides: [ObjectIdentifier: any DependencyBoxing] = [:]
  private(set) var contextOverride: DependencyContext?
  /// Where defaults come from; nil: from the test that asks, or from the process.
  package private(set) var cache: DependencyCache?
  /// Whether these values are being changed: reading one is then no use of it.
  private(set) var isUpdating = false

  /// The defaults, without any override.
  public init() {}

  /// The value of a dependency: the innermost override, or else the default for the context.
  public subscript<Key: TestDependencyKey>(key: Key.Type) -> Key.Value {
    get {
      if !overrides.isEmpty, let box = overrides[ObjectIdentifier(key)] {
        return box.value(of: key)
      }
      return (cache ?? .current).value(of: key, context: contextOverride, settles: !isUpdating) { context in
        defaultValue(of: key, in: context)
      }
    }
    set {
      overrides[ObjectIdentifier(key)] = DependencyBox<Key>(newValue)
    }
  }

  /// The context that defaults are chosen by.
  public var context: DependencyContext {
    get { (cache ?? .current).context(or: contextOverride) }
    set { contextOverride = newValue }
  }
}

extension DependencyValues {
  /// The values in force, to be kept: they remember the test that they belong to.
  static var captured: DependencyValues {
    var values = current
    values.cache = values.cache ?? .currentTest
    return values
  }

  /// These values as a base, with the present ones on top.
  func merging(_ present: DependencyValues) -> DependencyValues {
    var merged = present
    if !overrides.isEmpty {
      merged.overrides = overrides.merging(present.overrides) { _, present in present }
    }
    merged.contextOverride = present.contextOverride ?? contextOverride
    if let cache, present.cache == nil {
      merged.cache = .currentTest ?? cache
    }
    return merged
  }

  /// A copy of these values that a closure has changed.
  func updated(by update: (inout DependencyValues) throws -> Void) rethrows -> DependencyValues {
    var values = self
    values.isUpdating = true
    try update(&values)
    values.isUpdating = false
    return values
  }

  /// A copy of these values that an asynchronous closure has changed.
  func updated(
    isolation: isolated (any Actor)?,
    by update: (inout DependencyValues) async throws -> Void
  ) async rethrows -> DependencyValues {
    var values = self
    values.isUpdating = true
    try await update(&values)
    values.isUpdating = false
    return values
  }

  /// These values with a cache of their own, unless they have one.
  package func withOwnCache() -> DependencyValues {
    var values = self
    values.cache = cache ?? DependencyCache()
    return values
  }

  /// Evaluates a key's default.
  ///
  /// A live default outlives the scope that asks first, so it sees no scope's overrides: what belongs to one request
  /// would else be seen by all later ones. In a test the overrides are the test's own, and it sees them.
  private func defaultValue<Key: TestDependencyKey>(of key: Key.Type, in context: DependencyContext) -> Key.Value {
    var values = self
    if context == .live {
      values.overrides = [:]
    }
    return Self.$current.withValue(values) {
      switch context {
      case .live: liveValue(of: key)
      case .preview: key.previewValue
      case .test: key.testValue
      }
    }
  }

  private func liveValue<Key: TestDependencyKey>(of key: Key.Type) -> Key.Value {
    func box<LiveKey: DependencyKey>(_ key: LiveKey.Type) -> any DependencyBoxing {
      DependencyBox<LiveKey>(key.liveValue)
    }
    if let liveKey = key as? any DependencyKey.Type {
      return box(liveKey).value(of: key)
    }
    DependencyAccess.reportMissing("live value", of: key, advice: "set it with 'prepareDependencies'")
    return key.testValue
  }
}
