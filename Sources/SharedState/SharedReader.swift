/// The read-only counterpart of ``Shared``: a shared value that other code changes.
///
/// ```swift
/// @SharedReader(.inMemory("count")) var count = 0
/// ```
@propertyWrapper
@dynamicMemberLookup
public struct SharedReader<Value> {
  @usableFromInline
  let projection: Projection<Value>

  init(_ place: Place<Value>) {
    projection = Projection(place)
  }

  /// Reads the value of a box.
  package init(_ box: ValueBox<Value>) {
    self.init(box.place)
  }

  /// Shares a value that is held in memory only, and that never changes.
  public init(value: Value) {
    self.init(ValueBox(value).place)
  }

  /// A reader of a value that never changes.
  public static func constant(_ value: Value) -> SharedReader<Value> {
    SharedReader(value: value)
  }

  /// A reader of the value that the share points to now.
  public init(_ base: Shared<Value>) {
    self.init(base.projection.place)
  }

  /// Another reader of the same value.
  public init(projectedValue: SharedReader<Value>) {
    self.init(projectedValue.projection.place)
  }

  /// The value. Reading it is observed.
  @inlinable
  public var wrappedValue: Value { ChangeTracking.isActive ? projection.readTracked() : projection.read() }

  /// The reader itself: hand it on, derive from it, or assign to it to point to something else.
  public var projectedValue: SharedReader<Value> {
    get { self }
    nonmutating set { projection.swap(newValue.projection.place) }
  }

  /// A reader cannot change its value.
  @available(
    *,
    unavailable,
    message: """
      A 'SharedReader' only reads. Change the value by a 'Shared' of the same key. A part of a 'Shared' is a reader, too, \
      where its property is a 'let' or has no setter.
      """
  )
  @discardableResult
  public func withLock<Result, Failure: Error>(
    _ operation: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    fatalError("This method is unavailable: a reader cannot change its value.")
  }

  /// A reader of a part of the value.
  public subscript<Member>(dynamicMember keyPath: KeyPath<Value, Member>) -> SharedReader<Member> {
    SharedReader<Member>(projection.place.appending(keyPath))
  }

  /// Whether the value is being loaded. Observed.
  public var isLoading: Bool { projection.place.box.observedStatus.isLoading }

  /// Why the value could not be loaded, or may be stale; `nil` once it is up to date. Observed.
  public var loadError: (any Error)? { projection.place.box.observedErrors.load }

  /// Loads the value again from where it is kept. When this method returns, the observers are notified of what was
  /// loaded, as for the `load` of a ``Shared``.
  ///
  /// - Parameter timeout: The longest time to wait for the key. `nil`, the default, waits as long as is usual for it;
  ///   with Redis that is the store's `operationTimeout` of 10 seconds.
  /// - Throws: The key's error, ``TimedOutError`` when the key does not answer in time, or `CancellationError`.
  public func load(within timeout: Duration? = nil) async throws {
    try await projection.place.box.load(within: timeout)
  }
}

// As for `Shared`: a constant pointer to a projection, which locks every access.
extension SharedReader: @unchecked Sendable where Value: Sendable {}

extension SharedReader: Equatable where Value: Equatable {
  /// Whether the two values are equal now.
  public static func == (lhs: SharedReader, rhs: SharedReader) -> Bool {
    lhs.projection.isEqual(to: rhs.projection)
  }
}

extension SharedReader: Identifiable where Value: Identifiable {
  /// The value's own identity.
  public var id: Value.ID { wrappedValue.id }
}

extension SharedReader: CustomStringConvertible {
  /// The type of the reader, and its key, or its value when no key keeps it.
  public var description: String { "SharedReader<\(Value.self)>(\(projection.place))" }
}
