/// A value that many parts of a program share, and that many services may share.
///
/// All copies of a share, and all shares of one key, are one value: a change made through one is visible through the
/// others immediately. Reading is a local memory read and never I/O. Change the value with
/// ``withLock(_:fileID:filePath:line:column:)``.
///
/// ```swift
/// @Shared(.inMemory("count")) var count = 0
/// $count.withLock { $0 += 1 }
/// ```
///
/// A share may be used from any thread when its value is `Sendable`. Two shares point to the same value when one was
/// made from the other's projected value, or both from equal keys. Assigning to the projected value, or
/// `load(_:)`, makes this share and its copies point to something else.
@propertyWrapper
@dynamicMemberLookup
public struct Shared<Value> {
  @usableFromInline
  let projection: Projection<Value>

  init(_ place: Place<Value>) {
    projection = Projection(place)
  }

  init(_ box: ValueBox<Value>, declaredAt origin: ShareOrigin) {
    box.noteOrigin(origin)
    self.init(box.place)
  }

  /// Shares a value that is held in memory only, by this share, its copies and the shares derived from it.
  public init(value: Value, fileID: StaticString = #fileID, line: UInt = #line) {
    self.init(ValueBox(value), declaredAt: ShareOrigin(fileID: fileID, line: line))
  }

  /// Another share of the same value.
  public init(projectedValue: Shared<Value>) {
    self.init(projectedValue.projection.place)
  }

  /// The value. Reading it is observed; change it with ``withLock(_:fileID:filePath:line:column:)``.
  @inlinable
  public var wrappedValue: Value {
    get { ChangeTracking.isActive ? projection.readTracked() : projection.read() }
    @available(
      *,
      deprecated,
      message: """
        A change that is made between reading and writing is lost, as in 'shared += 1'. Use \
        '$shared.withLock { $0 += 1 }', which is one step.
        """
    )
    nonmutating set { withLock { $0 = newValue } }
  }

  /// The share itself: hand it on, derive from it, or assign to it to point to something else.
  public var projectedValue: Shared<Value> {
    get { self }
    nonmutating set { projection.swap(newValue.projection.place) }
  }

  /// Reads and changes the value in one step, with no other change in between.
  ///
  /// The change is visible on every thread once the closure has returned. Observers are notified before this method
  /// returns, unless a thread is notifying them of another change of the value at that moment: then that thread
  /// notifies them of this one, too; see <doc:ObservingChanges>. A key saves changes afterwards, in the order in which
  /// they were made.
  ///
  /// The closure runs on the calling thread with the value's lock held, so keep it short, and do not read or change
  /// this value inside it: that traps. So do two threads that use each other's value inside their closures; nest the
  /// closures of two values in the same order everywhere.
  ///
  /// - Parameter operation: Changes the value. When it throws, the value stays as it was.
  /// - Returns: The result of the closure.
  /// - Throws: The error of the closure.
  @inlinable
  @discardableResult
  public func withLock<Result, Failure: Error>(
    _ operation: (inout Value) throws(Failure) -> Result,
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) throws(Failure) -> Result {
    if ChangeTracking.isActive {
      let location = CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
      return try projection.place.modifyOutOfLine(at: location, operation)
    }
    return try projection.modify(operation)
  }

  /// A share of a part of the value.
  public subscript<Member>(dynamicMember keyPath: WritableKeyPath<Value, Member>) -> Shared<Member> {
    Shared<Member>(projection.place.appending(keyPath))
  }

  /// A read-only share of a part of the value.
  public subscript<Member>(dynamicMember keyPath: KeyPath<Value, Member>) -> SharedReader<Member> {
    SharedReader<Member>(projection.place.appending(keyPath))
  }

  /// Whether the value is being loaded. Observed.
  public var isLoading: Bool { projection.place.box.observedStatus.isLoading }

  /// Why the value could not be loaded, or may be stale; `nil` once it is up to date. Observed.
  public var loadError: (any Error)? { projection.place.box.observedErrors.load }

  /// Why the newest change could not be saved; `nil` once it is. Observed.
  public var saveError: (any Error)? { projection.place.box.observedSaveError }

  /// Loads the value again from where it is kept. A value that is held in memory only stays as it is.
  ///
  /// A local change that is made in the meantime is not overwritten. When this method returns, the observers are
  /// notified of what was loaded, except for those that belong to the main thread. It returns without that when the
  /// observers of this value have blocked for a second. Observers of other values do not delay it by more than that.
  /// - Parameter timeout: The longest time to wait for the key. `nil`, the default, waits as long as is usual for it;
  ///   with Redis that is the store's `operationTimeout` of 10 seconds.
  /// - Throws: The key's error, ``TimedOutError`` when the key does not answer in time, or `CancellationError`.
  public func load(within timeout: Duration? = nil) async throws {
    try await projection.place.box.load(within: timeout)
  }

  /// Saves the value, and returns once it is kept. A value that is held in memory only needs no saving.
  ///
  /// - Parameters:
  ///   - replacingUnreadable: Whether to replace a stored document that this program cannot read. That document, with
  ///     all that it holds, is lost then. By default it stays, and the call throws.
  ///   - timeout: The longest time to wait; see ``load(within:)``.
  /// - Throws: The key's error, ``TimedOutError``, or `CancellationError`. The save itself continues after a
  ///   cancellation or a time-out. With a key whose store is shared with other processes, also the reason why an
  ///   earlier change was discarded for another process's, if the program has not been notified of it; the next call
  ///   saves.
  public func save(replacingUnreadable: Bool = false, within timeout: Duration? = nil) async throws {
    let box = projection.place.box
    try await box.handingErrorsOver {
      try await box.persistence?.save(replacingUnreadable: replacingUnreadable, within: timeout)
    }
  }

  /// Saves the value in a way that the module of its key offers.
  package func save(by operation: ((any BoxPersistence)?) async throws -> Void) async throws {
    let box = projection.place.box
    try await box.handingErrorsOver { try await operation(box.persistence) }
  }

  /// Deletes what is stored, so that every program that shares it returns to its default. Returns once that is done.
  ///
  /// In this process that is the default of the share that was made first. A value that no key keeps stays as it is.
  /// When this method returns, the observers are notified, as for ``load(within:)``.
  /// - Parameter timeout: The longest time to wait; see ``load(within:)``.
  /// - Throws: The key's error, ``TimedOutError``, or `CancellationError`. The deletion itself continues after a
  ///   cancellation or a time-out.
  public func reset(within timeout: Duration? = nil) async throws {
    let box = projection.place.box
    guard let persistence = box.persistence else { return box.returnToDefault() }
    try await box.handingErrorsOver { try await persistence.reset(within: timeout) }
    await box.waitForDeliveries()
  }

  /// Reads and changes the value in one step, with no other process in between, and returns once it is kept.
  ///
  /// With a key whose store is shared with other processes, the closure runs on the newest value of the store, after
  /// all earlier changes that were made here. Its change takes effect exactly once, or not at all. When another process
  /// was faster, the closure runs again, on the value that this process has stored. It runs on the calling thread or on
  /// one of the store, so keep it short: it must neither block nor use this value's shares. With every other key this
  /// is `withLock` and then `save()`. When this method returns, the observers are notified, as for ``load(within:)``.
  ///
  /// ```swift
  /// try await $stock.updateAtomically { stock in
  ///   guard stock > 0 else { throw SoldOut() }
  ///   stock -= 1
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - timeout: The longest time to wait; see ``load(within:)``.
  ///   - operation: Changes the value. When it throws, the value stays as it was.
  /// - Returns: The result of the closure, from the run that took effect.
  /// - Throws: The closure's error, the key's error, ``TimedOutError``, or `CancellationError` when the update was
  ///   cancelled before it was sent, so that it never takes effect. When the store was asked and has not answered, the
  ///   key's error says that the outcome is unknown.
  @inlinable
  @discardableResult
  public func updateAtomically<Result: Sendable>(
    within timeout: Duration? = nil,
    _ operation: @escaping @Sendable (inout Value) throws -> Result,
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) async throws -> Result {
    let place = projection.place
    let update = AtomicUpdate(place, operation)
    if try await place.box.performAtomically(within: timeout, { update.run(in: $0) }) {
      return try update.outcome()
    }
    let result = try withLock(operation, fileID: fileID, filePath: filePath, line: line, column: column)
    try await save(within: timeout)
    return result
  }
}

// A share is a constant pointer to a projection, which locks every access. The value passes from thread to thread,
// which its own `Sendable` conformance allows.
extension Shared: @unchecked Sendable where Value: Sendable {}

extension Shared: Equatable where Value: Equatable {
  /// Whether the two values are equal now.
  ///
  /// While a test asserts changes, a share equals itself once the expected value is the present one: see
  /// ``SharedChangeTracker/assert(_:fileID:filePath:line:column:)-swift.method``.
  public static func == (lhs: Shared, rhs: Shared) -> Bool {
    lhs.projection.isEqual(to: rhs.projection)
  }
}

extension Shared: Identifiable where Value: Identifiable {
  /// The value's own identity.
  public var id: Value.ID { wrappedValue.id }
}

extension Shared: CustomStringConvertible {
  /// The type of the share, and its key, or its value when no key keeps it.
  public var description: String { "Shared<\(Value.self)>(\(projection.place))" }
}
