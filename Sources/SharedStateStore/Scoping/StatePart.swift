/// Access to a part of a state.
@usableFromInline
package struct StatePart<Root: Sendable, Value: Sendable>: Sendable {
  @usableFromInline
  let keyPath: any WritableKeyPath<Root, Value> & Sendable

  /// The offset of the part in the memory of the whole; negative for a computed part. A key path takes ten times as
  /// long.
  @usableFromInline
  let offset: Int

  /// Changes a computed part in place, if such an access is known.
  @usableFromInline
  let access: _$InPlaceAccess<Root, Value>?

  @inlinable
  package init(_ keyPath: any WritableKeyPath<Root, Value> & Sendable) {
    self.keyPath = keyPath
    offset = MemoryLayout<Root>.offset(of: keyPath) ?? -1
    access = offset < 0 ? Self.access(to: keyPath) : nil
  }

  @usableFromInline
  static func access(to keyPath: AnyKeyPath) -> _$InPlaceAccess<Root, Value>? {
    func access<State: ObservableState>(in state: State.Type) -> Any? { state.access(to: keyPath, of: Value.self) }
    guard let state = Root.self as? any ObservableState.Type else { return nil }
    return access(in: state) as? _$InPlaceAccess<Root, Value>
  }

  /// The part, as a copy.
  @inlinable
  func read(_ root: Root) -> Value {
    guard offset >= 0 else { return root[keyPath: keyPath] }
    // `offset(of:)` returns an offset only for stored properties, whose memory is a `Value`.
    return withUnsafePointer(to: root) { root in
      (UnsafeRawPointer(root) + offset).assumingMemoryBound(to: Value.self).pointee
    }
  }

  /// Changes the part in place.
  @inlinable
  func modify<Result>(_ root: inout Root, _ body: (inout Value) -> Result) -> Result {
    guard offset >= 0 else { return modifyComputed(&root, body) }
    // As above; and no other code has access to the whole meanwhile.
    return withUnsafeMutablePointer(to: &root) { root in
      body(&(UnsafeMutableRawPointer(root) + offset).assumingMemoryBound(to: Value.self).pointee)
    }
  }

  @inlinable
  func modifyComputed<Result>(_ root: inout Root, _ body: (inout Value) -> Result) -> Result {
    guard let access else { return body(&root[keyPath: keyPath]) }
    var result: Result?
    access.modify(&root) { result = body(&$0) }
    guard let result else {
      preconditionFailure("The access to a property of '\(Root.self)' did not call its closure. It has to.")
    }
    return result
  }
}
