extension SharedReaderKey {
  /// A key of this type with a default of its own.
  ///
  /// ```swift
  /// extension SharedReaderKey where Self == InMemoryKey<Int>.Default {
  ///   static var count: Self { Self[.inMemory("count"), default: 0] }
  /// }
  ///
  /// @Shared(.count) var count
  /// ```
  public typealias Default = SharedKeyDefault<Self>
}

/// A key together with the default of its value.
public struct SharedKeyDefault<Base: SharedReaderKey>: SharedReaderKey {
  let base: Base
  private let evaluate: @Sendable () -> Base.Value

  /// The default, evaluated at each access.
  public var initialValue: Base.Value { evaluate() }

  /// Adds a default to a key; it is evaluated each time that it is needed, and only then.
  public static subscript(_ key: Base, default value: @autoclosure @escaping @Sendable () -> Base.Value) -> Self {
    Self(base: key, evaluate: value)
  }

  /// The key's own identity: the state is the same with or without a default.
  public var id: Base.ID { base.id }

  /// Loads with the key.
  public func load(context: LoadContext<Base.Value>, continuation: LoadContinuation<Base.Value>) {
    base.load(context: context, continuation: continuation)
  }

  /// Watches with the key.
  public func subscribe(
    context: LoadContext<Base.Value>,
    subscriber: SharedSubscriber<Base.Value>
  ) -> SharedSubscription {
    base.subscribe(context: context, subscriber: subscriber)
  }

  /// The box of the key, so that it is the same with or without a default.
  @_documentation(visibility: private)
  public func _ownBox(default initialValue: () -> Base.Value) -> _OwnBox<Base.Value>? {
    _OwnBox(readOnlyBox(of: base, default: initialValue))
  }
}

extension SharedKeyDefault: CustomStringConvertible {
  /// How the key is made; the default is not shown.
  public var description: String { String(describing: base) }
}

extension SharedKeyDefault: SharedKey where Base: SharedKey {
  /// Saves with the key.
  public func save(_ value: Base.Value, context: SaveContext, continuation: SaveContinuation) {
    base.save(value, context: context, continuation: continuation)
  }

  /// Deletes with the key.
  public func reset(to initialValue: Base.Value, continuation: SaveContinuation) {
    base.reset(to: initialValue, continuation: continuation)
  }
}
