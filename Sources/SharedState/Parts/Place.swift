/// Where a shared value lives: in a box's memory, directly or at an offset, or behind an accessor.
///
/// A stored property of a shared struct is reached through a pointer into the memory of the whole, so that reading a
/// derived share costs what reading the whole costs.
@usableFromInline
package struct Place<Value> {
  /// Owns the memory and the lock that guards it.
  @usableFromInline
  let box: Box

  /// The value's own memory; `nil` when the value is computed.
  @usableFromInline
  let pointer: UnsafeMutablePointer<Value>?

  /// Reads and writes a value that has no memory of its own; `nil` exactly when `pointer` is not.
  @usableFromInline
  let accessor: Accessor<Value>?

  /// The path to a part that has memory; `nil` for the whole value, and when the accessor holds the path.
  @usableFromInline
  let path: PartPath?

  init(box: Box, pointer: UnsafeMutablePointer<Value>, path: PartPath? = nil) {
    self.box = box
    self.pointer = pointer
    self.path = path
    accessor = nil
  }

  init(box: Box, accessor: Accessor<Value>) {
    self.box = box
    self.accessor = accessor
    pointer = nil
    path = nil
  }

  /// The value, without registering an access with Observation.
  @inlinable
  func read() -> Value {
    guard let pointer else { return readThroughAccessor() }
    box.lock.lock(for: box)
    defer { box.unlock() }
    return pointer.pointee
  }

  /// Runs the closure on the value, counts the mutation and notifies everyone concerned.
  ///
  /// A closure that cannot throw mutates in place. One that can works on a copy, so that an error leaves the value as
  /// it was. Call ``modifyOutOfLine(at:_:)`` instead while ``ChangeTracking`` is active.
  @inlinable
  func modify<Result, Failure: Error>(
    _ operation: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    guard let pointer else { return try modifyOutOfLine(at: nil, operation) }
    guard Failure.self == Never.self else { return try modifyCopy(of: pointer, operation) }
    box.beginMutation()
    let result = try operation(&pointer.pointee)
    box.finishMutation()
    return result
  }

  @inlinable
  func modifyCopy<Result, Failure: Error>(
    of pointer: UnsafeMutablePointer<Value>,
    _ operation: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    box.beginMutation()
    var copy = pointer.pointee
    // The replaced or discarded value is released after the lock, because its deinitialiser is user code.
    defer { withExtendedLifetime(copy) {} }
    let result: Result
    do {
      result = try operation(&copy)
    } catch {
      box.abandonMutation()
      throw error
    }
    swap(&pointer.pointee, &copy)
    box.finishMutation()
    return result
  }

  @usableFromInline
  @inline(never)
  func readThroughAccessor() -> Value {
    unwrappedAccessor.snapshot().value
  }

  /// Handles the rare cases of `modify`: an accessor, tracking, an assertion.
  ///
  /// - Parameter location: The call of the mutation in the source, for the trackers.
  @usableFromInline
  @inline(never)
  func modifyOutOfLine<Result, Failure: Error>(
    at location: CallSite?,
    _ operation: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    if let assertion = ChangeTracking.currentAssertion { return try expect(in: assertion, at: location, operation) }
    let trackers = ChangeTracking.isActive ? box.trackersOfNextChange() : []
    // Tracking is active for other code, but not here.
    if trackers.isEmpty, pointer != nil { return try modify(operation) }
    // Released after the lock, as above.
    var discarded: Value?
    defer { withExtendedLifetime(discarded) {} }
    box.beginMutation()
    let change = box.change(at: location, untrackedBy: trackers)
    let (outcome, isWritten) = modifyCopy(operation, discarded: &discarded)
    if isWritten {
      change?.note(with: trackers)
      box.finishMutation()
    } else {
      box.abandonMutation()
    }
    return try outcome.get()
  }

  /// Runs the closure on the expected value, and leaves the value alone.
  private func expect<Result, Failure: Error>(
    in assertion: ChangeAssertion,
    at location: CallSite?,
    _ operation: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let expectation = assertion.expectation(of: box)
    var outcome: Swift.Result<Result, Failure>?
    var discarded: Value?
    expectation.state(at: location) {
      outcome = modifyCopy(operation, discarded: &discarded).outcome
    }
    return try unwrap(outcome).get()
  }

  /// Runs the closure on a copy of the value, and writes it back unless the closure threw. Call with the lock held.
  ///
  /// - Parameter discarded: The value that was replaced, or that was not written.
  private func modifyCopy<Result, Failure: Error>(
    _ operation: (inout Value) throws(Failure) -> Result,
    discarded: inout Value?
  ) -> (outcome: Swift.Result<Result, Failure>, isWritten: Bool) {
    var outcome: Swift.Result<Result, Failure>?
    var left: Value?
    let isWritten = modifyLocked { value in
      var copy = value
      do throws(Failure) {
        outcome = .success(try operation(&copy))
        swap(&value, &copy)
        left = copy
        return true
      } catch {
        outcome = .failure(error)
        left = copy
        return false
      }
    }
    discarded = left
    return (unwrap(outcome), isWritten)
  }

  private func unwrap<Outcome>(_ outcome: Outcome?) -> Outcome {
    guard let outcome else {
      preconditionFailure("An accessor did not run its closure. This is a bug in SharedState.")
    }
    return outcome
  }

  /// The value, and the version of the box that it belongs to, without registering an access with Observation.
  func snapshot() -> (value: Value, version: UInt64) {
    guard let pointer else { return unwrappedAccessor.snapshot() }
    box.lock.lock(for: box)
    defer { box.unlock() }
    return (pointer.pointee, box.version)
  }

  private var unwrappedAccessor: Accessor<Value> {
    guard let accessor else {
      preconditionFailure("A place has neither memory nor an accessor. This is a bug in SharedState.")
    }
    return accessor
  }
}

extension Place {
  /// The place of a part of this value.
  func appending<Member>(_ keyPath: KeyPath<Value, Member>) -> Place<Member> {
    if let pointer, let offset = MemoryLayout<Value>.offset(of: keyPath) {
      // `offset(of:)` returns an offset only for stored properties, whose memory is a `Member` for as long as the whole
      // lives.
      let member = (UnsafeMutableRawPointer(pointer) + offset).assumingMemoryBound(to: Member.self)
      return Place<Member>(box: box, pointer: member, path: PartPath(whole: path, keyPath: keyPath))
    }
    return Place<Member>(box: box, accessor: KeyPathAccessor(whole: self, keyPath: keyPath))
  }

  /// Runs the closure on the value with the lock held. The closure returns whether it changed anything.
  ///
  /// - Returns: Whether something was written.
  func modifyLocked(_ body: (inout Value) -> Bool) -> Bool {
    modify(in: box.memory, body)
  }

  /// Runs the closure on this part of a whole value in this memory: the box's own, with the lock held, or a copy that
  /// belongs to the caller. The closure returns whether it changed anything.
  ///
  /// - Returns: Whether something was written.
  @inlinable
  func modify(in memory: UnsafeMutableRawPointer, _ body: (inout Value) -> Bool) -> Bool {
    guard let pointer else { return modifyThroughAccessor(in: memory, body) }
    // The memory has the layout of the one that `pointer` points into, so the part is at the same offset.
    let offset = UnsafeMutableRawPointer(pointer) - box.memory
    return body(&(memory + offset).assumingMemoryBound(to: Value.self).pointee)
  }

  @usableFromInline
  @inline(never)
  func modifyThroughAccessor(in memory: UnsafeMutableRawPointer, _ body: (inout Value) -> Bool) -> Bool {
    unwrappedAccessor.modify(in: memory, body)
  }

  /// This part of a snapshot of the whole.
  func project(_ snapshot: UnsafeRawPointer) -> Value {
    guard let pointer else { return unwrappedAccessor.project(snapshot) }
    // The snapshot is a copy of the memory that `pointer` points into, so the part is at the same offset.
    let offset = UnsafeRawPointer(pointer) - UnsafeRawPointer(box.memory)
    return (snapshot + offset).assumingMemoryBound(to: Value.self).pointee
  }

  /// Calls `body` with the present value before this method returns, then with every change of the whole, in order.
  ///
  /// - Parameters:
  ///   - onMainThread: Whether the observer belongs to the main thread, and is notified there.
  ///   - version: The present value is not delivered if the box has this version.
  ///   - body: Takes the value, and the version of the box that has it. Called with no lock held, one call at a time; it
  ///     may read, mutate and drop shares.
  ///   - onSwap: Called when a projection that pointed here is pointed elsewhere.
  /// - Returns: Ends the observation when it is released. It keeps the value alive.
  func observe(
    onMainThread: Bool,
    after version: UInt64?,
    _ body: @escaping (Value, UInt64) -> Void,
    onSwap: @escaping () -> Void
  ) -> ValueObservation {
    box.observeSnapshots(onMainThread: onMainThread, after: version, { body(project($0), $1) }, onSwap: onSwap)
  }

  /// Whether both are the same part of the same value.
  func isSame(as other: Place<Value>) -> Bool {
    guard box === other.box, pointer == other.pointer else { return false }
    guard let accessor, let otherAccessor = other.accessor else { return true }
    return accessor === otherAccessor || accessor.isSame(as: otherAccessor)
  }
}

extension Place: CustomStringConvertible {
  /// The key, or the value when no key keeps it, and the path from there to this part.
  @usableFromInline
  package var description: String { box.description + partText }

  /// The path from the value of the box to this part, as Swift code that derives it; empty for the whole value.
  var partText: String { accessor?.text ?? path?.text ?? "" }

  /// Distinguishes this part from others while a share of it lives.
  var identity: ObjectIdentifier {
    accessor.map { ObjectIdentifier($0) } ?? path.map { ObjectIdentifier($0) } ?? ObjectIdentifier(box)
  }
}
