extension SharedReaderKey {
  /// A key of this type with a default baked in.
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

  /// The default; each time that it is read it is evaluated.
  public var initialValue: Base.Value { evaluate() }

  /// Bakes a default into a key. It is evaluated each time that it is needed, and only then.
  public static subscript(_ key: Base, default value: @autoclosure @escaping @Sendable () -> Base.Value) -> Self {
    Self(base: key, evaluate: value)
  }

  /// The key's own identity: with or without a default, it is the same state.
  public var id: Base.ID { base.id }

  /// Loads by way of the key.
  public func load(context: LoadContext<Base.Value>, continuation: LoadContinuation<Base.Value>) {
    base.load(context: context, continuation: continuation)
  }

  /// Watches by way of the key.
  public func subscribe(
    context: LoadContext<Base.Value>,
    subscriber: SharedSubscriber<Base.Value>
  ) -> SharedSubscription {
    base.subscribe(context: context, subscriber: subscriber)
  }

  /// The box of the key.
  @_documentation(visibility: private)
  public func _ownBox(default initialValue: () -> Base.Value) -> _OwnBox<Base.Value>? {
    base._ownBox(default: initialValue)
  }
}

extension SharedKeyDefault: CustomStringConvertible {
  /// How the key is made; the default is not shown.
  public var description: String { String(describing: base) }
}

extension SharedKeyDefault: SharedKey where Base: SharedKey {
  /// Saves by way of the key.
  public func save(_ value: Base.Value, context: SaveContext, continuation: SaveContinuation) {
    base.save(value, context: context, continuation: continuation)
  }

  /// Deletes by way of the key.
  public func reset(to initialValue: Base.Value, continuation: SaveContinuation) {
    base.reset(to: initialValue, continuation: continuation)
  }
}
