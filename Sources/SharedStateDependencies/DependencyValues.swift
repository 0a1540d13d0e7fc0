import IssueReporting

/// The dependencies in force.
///
/// Add a property for each dependency in an extension, based on ``subscript(_:)``. Read dependencies with
/// ``Dependency`` and override them with ``withDependencies(_:operation:)``.
///
/// The values in force are inherited by tasks, but neither by detached tasks nor by threads: those see the defaults
/// of the process, which a test shares with other tests. Carry values there with ``withEscapedDependencies(_:)``, or
/// use a ``Dependency`` that was created by the test.
public struct DependencyValues: Sendable {
  /// The values in force for the current task.
  package static var current: DependencyValues { DependencyScope.current.values }
  /// Whether values are being changed, so that reading one is no use of it.
  static var isUpdating: Bool { DependencyScope.current.isUpdating }

  private(set) var overrides: [ObjectIdentifier: any DependencyBoxing] = [:]
  var contextOverride: DependencyContext?
  /// The source of defaults; `nil` for that of the calling test or of the process.
  package private(set) var cache: DependencyCache?

  /// Fresh defaults without overrides, and independent of values that were used, overridden or prepared elsewhere.
  public init() {
    self.init(cache: DependencyCache())
  }

  /// The defaults in a cache, without overrides; `nil` for the cache of the calling test or of the process.
  package init(cache: DependencyCache?) {
    self.cache = cache
  }

  /// Fresh defaults of the running program.
  public static var live: DependencyValues { DependencyValues(context: .live) }

  /// Fresh defaults of previews.
  public static var preview: DependencyValues { DependencyValues(context: .preview) }

  /// Fresh defaults of tests.
  public static var test: DependencyValues { DependencyValues(context: .test) }

  private init(context: DependencyContext) {
    self.init()
    contextOverride = context
  }

  /// The value of a dependency: the innermost override, otherwise the default for the context.
  public subscript<Key: TestDependencyKey>(key: Key.Type) -> Key.Value {
    get {
      if !overrides.isEmpty, let box = overrides[ObjectIdentifier(key)] {
        return box.value(of: key)
      }
      return (cache ?? .current).value(of: key, context: contextOverride, settles: !Self.isUpdating) { context in
        defaultValue(of: key, in: context)
      }
    }
    set {
      overrides[ObjectIdentifier(key)] = DependencyBox<Key>(newValue)
    }
  }

  /// The innermost override of a dependency; `nil`: there is none. Takes no lock, unlike a default.
  package func override<Key: TestDependencyKey>(of key: Key.Type) -> Key.Value? {
    overrides[ObjectIdentifier(key)]?.value(of: key)
  }

  /// The context, which selects the defaults.
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

  /// These values, overridden by the present ones.
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

  /// Lets a closure change these values.
  mutating func update<Result>(
    by update: (inout DependencyValues) throws -> Result
  ) rethrows -> Result {
    try DependencyScope(.current, isUpdating: true).inForce { try update(&self) }
  }

  /// Lets an asynchronous closure change these values.
  mutating func update<Result>(
    isolation: isolated (any Actor)?,
    by update: (inout DependencyValues) async throws -> Result
  ) async rethrows -> Result {
    try await DependencyScope(.current, isUpdating: true).inForce(isolation: isolation) { try await update(&self) }
  }

  /// Runs an operation with these values in force.
  func inForce<Result>(_ operation: () throws -> Result) rethrows -> Result {
    try DependencyScope(self).inForce(operation)
  }

  /// Runs an asynchronous operation with these values in force.
  func inForce<Result>(
    isolation: isolated (any Actor)?,
    _ operation: () async throws -> Result
  ) async rethrows -> Result {
    try await DependencyScope(self).inForce(isolation: isolation, operation)
  }

  /// These values with a cache of their own, unless they have one.
  package func withOwnCache() -> DependencyValues {
    var values = self
    values.cache = cache ?? DependencyCache()
    return values
  }

  /// These values with a new cache.
  package func withFreshCache() -> DependencyValues {
    var values = self
    values.cache = DependencyCache()
    return values
  }

  /// Evaluates a key's default.
  ///
  /// A live default outlives the scope that needs it first, so it sees no overrides of the scope: otherwise all later
  /// requests would see the override of one request. In a test the overrides are the test's own, and the default sees
  /// them.
  private func defaultValue<Key: TestDependencyKey>(of key: Key.Type, in context: DependencyContext) -> Key.Value {
    var values = self
    if context == .live {
      values.overrides = [:]
    }
    return DependencyScope(values, isUpdating: Self.isUpdating).inForce {
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
