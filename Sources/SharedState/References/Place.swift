/// Where a shared value lives: in a reference's memory, directly or at an offset, or behind an accessor.
///
/// A stored property of a shared struct is reached through a pointer into the memory of the whole, so that reading a
/// derived share costs what reading the whole costs.
@usableFromInline
package struct Place<Value> {
  /// Owns the memory and the lock that guards it.
  @usableFromInline
  let reference: Reference

  /// The value's own memory; `nil` when the value is computed.
  @usableFromInline
  let pointer: UnsafeMutablePointer<Value>?

  /// Reads and writes a value that has no memory of its own; `nil` exactly when `pointer` is not.
  @usableFromInline
  let accessor: Accessor<Value>?

  @usableFromInline
  init(reference: Reference, pointer: UnsafeMutablePointer<Value>?, accessor: Accessor<Value>?) {
    self.reference = reference
    self.pointer = pointer
    self.accessor = accessor
  }

  /// The value, without registering an access with Observation.
  @inlinable
  func read() -> Value {
    guard let pointer else { return readThroughAccessor() }
    reference.lock.lock()
    defer { reference.lock.unlock() }
    return pointer.pointee
  }

  /// Runs the closure on the value, counts the mutation and tells everybody.
  ///
  /// A closure that cannot throw mutates in place. One that can works on a copy, so that an error leaves the value as
  /// it was.
  @inlinable
  func modify<Result, Failure: Error>(
    _ operation: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    guard let pointer else { return try modifyThroughAccessor(operation) }
    guard Failure.self == Never.self else { return try modifyCopy(of: pointer, operation) }
    reference.lock.lock()
    reference.lock.beginClosure()
    let result = try operation(&pointer.pointee)
    reference.finishMutation()
    return result
  }

  @inlinable
  func modifyCopy<Result, Failure: Error>(
    of pointer: UnsafeMutablePointer<Value>,
    _ operation: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    reference.lock.lock()
    reference.lock.beginClosure()
    var copy = pointer.pointee
    // What is replaced or discarded is released after the lock, because its deinitialiser is somebody else's code.
    defer { withExtendedLifetime(copy) {} }
    let result: Result
    do {
      result = try operation(&copy)
    } catch {
      reference.lock.endClosure()
      reference.lock.unlock()
      throw error
    }
    swap(&pointer.pointee, &copy)
    reference.finishMutation()
    return result
  }

  @usableFromInline
  @inline(never)
  func readThroughAccessor() -> Value {
    unwrappedAccessor.snapshot().value
  }

  @usableFromInline
  @inline(never)
  func modifyThroughAccessor<Result, Failure: Error>(
    _ operation: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    var outcome: Swift.Result<Result, Failure>?
    // Released after the lock, as above.
    var discarded: Value?
    defer { withExtendedLifetime(discarded) {} }
    reference.lock.lock()
    reference.lock.beginClosure()
    let isWritten = unwrappedAccessor.modify { value in
      do throws(Failure) {
        outcome = .success(try operation(&value))
        return true
      } catch {
        outcome = .failure(error)
        discarded = value
        return false
      }
    }
    guard let outcome else {
      preconditionFailure("An accessor did not run the closure that it was given. This is a bug in SharedState.")
    }
    if isWritten {
      reference.finishMutation()
    } else {
      reference.lock.endClosure()
      reference.lock.unlock()
    }
    return try outcome.get()
  }

  /// The value, and the version of the reference that it belongs to, without registering an access with Observation.
  func snapshot() -> (value: Value, version: UInt64) {
    guard let pointer else { return unwrappedAccessor.snapshot() }
    reference.lock.lock()
    defer { reference.lock.unlock() }
    return (pointer.pointee, reference.stamp &+ reference.remoteChanges)
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
      // `offset(of:)` answers only for stored properties, whose memory is a `Member` for as long as the whole lives.
      let member = (UnsafeMutableRawPointer(pointer) + offset).assumingMemoryBound(to: Member.self)
      return Place<Member>(reference: reference, pointer: member, accessor: nil)
    }
    return Place<Member>(
      reference: reference,
      pointer: nil,
      accessor: KeyPathAccessor(whole: self, keyPath: keyPath)
    )
  }

  /// Runs the closure on the value with the lock held. The closure says whether it changed anything.
  ///
  /// - Returns: Whether something was written.
  func modifyLocked(_ body: (inout Value) -> Bool) -> Bool {
    if let pointer {
      body(&pointer.pointee)
    } else {
      unwrappedAccessor.modify(body)
    }
  }
}
