public import Foundation
public import SharedState

extension SharedReaderKey {
  /// Shares a value with every service that uses the same name on the same Redis.
  ///
  /// The value is stored as a JSON document under the name. Reading is a local memory read. A change is visible here
  /// immediately, and in other services as soon as Redis has passed it on.
  ///
  /// - Parameters:
  ///   - name: The name in Redis, below the store's namespace. Not empty, at most 512 bytes, without control characters
  ///     and braces. Names are compared by their bytes: two ways to write an "é" are two names, as they are to Redis. A
  ///     name that is not usable appears as ``RedisSharedStateError/Code/invalidName`` in `loadError`.
  ///   - store: The Redis; `nil` for the dependency `defaultRedisStore`.
  ///   - options: How conflicts are resolved, how long the value is kept, how it is encoded, and how large it may
  ///     become. Where the name is shared already, the options of its first share hold, and differing ones are
  ///     reported.
  public static func redis<Value: Codable & Sendable>(
    _ name: String,
    store: RedisStore? = nil,
    options: RedisSharedKey<Value>.Options = .standard
  ) -> Self where Self == RedisSharedKey<Value> {
    RedisSharedKey(name, store: store, options: options)
  }

  /// Shares a value with every service that uses the same name on the same Redis, and refuses invalid values.
  ///
  /// ```swift
  /// @Shared(.redis("checkout:config", validate: { @Sendable config in
  ///   guard config.maximumItems > 0 else { throw Invalid("maximumItems has to be positive") }
  /// }))
  /// var config = CheckoutConfig()
  /// ```
  ///
  /// - Parameters:
  ///   - name: The name in Redis.
  ///   - store: The Redis; `nil` for the dependency `defaultRedisStore`.
  ///   - options: All other options; their `validate` is replaced.
  ///   - validate: Throws an error for a value that is not valid: see ``RedisSharedKey/Options/validate``. In an
  ///     attribute, as here, the compiler requires the closure to be marked `@Sendable`.
  public static func redis<Value: Codable & Sendable>(
    _ name: String,
    store: RedisStore? = nil,
    options: RedisSharedKey<Value>.Options = .standard,
    validate: @escaping @Sendable (Value) throws -> Void
  ) -> Self where Self == RedisSharedKey<Value> {
    var options = options
    options.validate = validate
    return RedisSharedKey(name, store: store, options: options)
  }
}

/// Shares a value through Redis; made with `.redis(_:store:options:)`.
public struct RedisSharedKey<Value: Codable & Sendable>: SharedKey, CustomStringConvertible {
  /// How a value is kept.
  ///
  /// All shares of one name, in one store, are one value, so the options of the first share hold for as long as any of
  /// them lives. Differing options of later shares are ignored and reported once for each name and option: as an issue
  /// in a test, and otherwise, or on a thread that a test has started itself, as a warning in the log of the store.
  /// Encoders, decoders and rules cannot be compared, except for whether there are rules; those of the first share
  /// hold, too.
  public struct Options: Sendable {
    /// The largest document that is sent or read, in bytes; 1 MiB by default.
    ///
    /// A value over the limit stays in the box, unsent, with ``RedisSharedStateError/Code/valueTooLarge``
    /// as its `saveError`. A stored document over the limit is not read: the box keeps the last value, with the same
    /// error as its `loadError`.
    public var maximumBytes: Int

    /// What happens to a local change when another service has changed the value at the same time. By default, both
    /// changes are merged.
    public var conflict: ConflictPolicy

    /// How long the value is kept after its last change; `nil`, the default: forever. At least a millisecond.
    ///
    /// When it has passed, every service returns to its default. Where services disagree, the last writer decides.
    public var timeToLive: Duration?

    /// Whether edits by `redis-cli`, or by a program in another language, are noticed within about 40 milliseconds and
    /// adopted; `true` by default.
    ///
    /// Otherwise this service notices them at the next comparison, after ``RedisConfiguration/antiEntropyInterval``,
    /// and does not adopt them.
    public var detectsForeignEdits: Bool

    /// What happens to a field, an entry or an element that one service removes while another one changes it. By
    /// default, the later commit wins. Only of effect where ``conflict`` merges.
    public var removal: RemovalPolicy

    /// Whether dictionaries whose keys are neither strings nor integers are written as arrays of keys and values, as
    /// `JSONEncoder` writes them, so that other Swift programs can decode the documents. Both forms are read. By
    /// default they are objects, whose entries are merged one by one; an array is replaced as a whole.
    public var usesArraysForDictionaries: Bool

    /// Whether a stored object of another shape is refused; `false` by default.
    ///
    /// An object is of another shape when it has members, and none of them is one that the type asks for: most likely
    /// another value has the same name. A type whose members all have defaults, or are optional, decodes it all the
    /// same, and a change would add its own members. By default the log warns of that, once for each value and service.
    /// If it is refused, it is treated like a document that cannot be decoded. Documents that are decoded by a subclass
    /// of `JSONDecoder` are not checked.
    public var isStrict: Bool

    /// What happens when some members of a stored document cannot be read; by default, the document is held.
    ///
    /// Otherwise one flag that only a newer release knows leaves the other flags as they are stored. The `loadError` is
    /// ``RedisSharedStateError/Code/undecodable``, and its ``RedisSharedStateError/unreadableMembers`` are the paths.
    /// What is stored of these members stays, whatever this service saves, until it assigns another value to one.
    /// `save(replacingUnreadable: true)` replaces them, with the rest of the document. Of no effect with
    /// ``ConflictPolicy/lastWriteWins``, which replaces whole documents, and with a subclass of `JSONDecoder`. See
    /// <doc:BadDataHeld>.
    public var unreadableMembers: UnreadableMemberPolicy

    /// How many replicas of the server have to have a change before it counts as saved; 0 by default.
    ///
    /// `save()`, `updateAtomically(_:)`, `reset()` and ``RedisStore/flush(within:)`` wait for them, and throw
    /// ``RedisSharedStateError/Code/notReplicated`` when their time is over. The primary has the change then, and keeps
    /// it; it is neither given up nor sent again. The `saveError` says so until enough replicas have it. Each group of
    /// changes costs one more command: see <doc:AcknowledgedSurvives>.
    public var replicas: RedisReplicas

    /// Whether `init(require:)` uses the value of the snapshot where Redis does not answer within
    /// ``RedisConfiguration/connectTimeout``, or refuses to; `false` by default.
    ///
    /// Redis has confirmed that value in an earlier life of the service: see ``RedisConfiguration/snapshot``.
    public var acceptsSnapshot: Bool

    /// Encodes the document, with the settings of this encoder. A subclass may be called on any thread.
    public var encoder: JSONEncoder

    /// Decodes the document, with the settings of this decoder. A subclass may be called on any thread.
    public var decoder: JSONDecoder

    /// Refuses a value by throwing an error that says why. `nil`, the default: every value that can be decoded is
    /// valid.
    ///
    /// A local change that it refuses is not sent, and ``RedisSharedStateError/Code/rejected`` is thrown, or becomes
    /// its `saveError`. A refused document is treated like one that cannot be decoded: the share keeps its value. If
    /// two changes are each valid, but not together, the later one is refused.
    ///
    /// It may be called often and on any thread, so keep it short. It must not use shares. The thrown error is
    /// described in errors and in the log, so its text should not contain the value.
    public var validate: (@Sendable (Value) throws -> Void)?

    /// Makes options. By default, conflicts are merged, and the value is kept forever, as plain JSON of at most 1 MiB.
    public init(
      conflict: ConflictPolicy = .merge,
      removal: RemovalPolicy = .laterWins,
      timeToLive: Duration? = nil,
      maximumBytes: Int = DocumentLimit.standard,
      encoder: JSONEncoder = .init(),
      decoder: JSONDecoder = .init(),
      usesArraysForDictionaries: Bool = false,
      detectsForeignEdits: Bool = true,
      isStrict: Bool = false,
      unreadableMembers: UnreadableMemberPolicy = .hold,
      replicas: RedisReplicas = 0,
      acceptsSnapshot: Bool = false,
      validate: (@Sendable (Value) throws -> Void)? = nil
    ) {
      self.conflict = conflict
      self.removal = removal
      self.usesArraysForDictionaries = usesArraysForDictionaries
      self.timeToLive = timeToLive
      self.detectsForeignEdits = detectsForeignEdits
      self.isStrict = isStrict
      self.unreadableMembers = unreadableMembers
      self.replicas = replicas
      self.acceptsSnapshot = acceptsSnapshot
      self.maximumBytes = maximumBytes
      self.encoder = encoder
      self.decoder = decoder
      self.validate = validate
    }

    /// The default options, except that a stored object of another shape is refused: see ``isStrict``.
    public static var strict: Self { Self(isStrict: true) }

    /// The default options. All keys share their encoder and decoder, because making them costs as much as a look-up.
    ///
    /// No other module can reach the shared coders to change their settings.
    @usableFromInline
    static var standard: Self {
      Self(encoder: standardEncoder, decoder: standardDecoder)
    }
  }

  let name: String
  let store: RedisStore
  package let findsStorage: Bool
  let options: Options

  /// The names in Redis, or why the name is not usable.
  var names: Result<KeyNames, RedisSharedStateError> { store.names(for: name) }

  init(_ name: String, store: RedisStore?, options: Options) {
    self.name = name
    findsStorage = store == nil
    self.store = store ?? RedisStore.default
    self.options = options
  }

  /// The name, and the store that keeps it.
  public var id: RedisKeyID {
    RedisKeyID(name: Name(name), store: ObjectIdentifier(store))
  }

  /// The expression that makes the key.
  public var description: String { expression }

  /// The box that the store's registry holds.
  @_documentation(visibility: private)
  public func _ownBox(default initialValue: () -> Value) -> _OwnBox<Value>? {
    _OwnBox(box(default: initialValue))
  }

  private func box(default initialValue: () -> Value) -> ValueBox<Value> {
    var made: RedisPersistence<Self>?
    let box = store.registry.box(id: .name(Name(name))) {
      let value = initialValue()
      let persistence = RedisPersistence(key: self, initialValue: value)
      made = persistence
      return ValueBox(persistence.firstValue(), persistence: persistence)
    } start: { box, isUsable in
      made?.start(box, isUsable)
    }
    if let first = box.persistence, first !== made {
      // The store's registry has no other class for this type of value. A checked cast takes longer than all the rest.
      compareOptions(with: unsafeDowncast(first, to: RedisPersistence<Self>.self).key.options)
    }
    return box
  }

  private func compareOptions(with first: Options) {
    for option in options.differences(from: first) {
      store.report(option, of: name, ignored: options.text(of: option), kept: first.text(of: option))
    }
  }

  /// A thousand years in milliseconds: a script's numbers cannot represent a later expiry.
  private static var longestTimeToLive: Double { 31_556_952_000_000 }

  var policy: ReplicaPolicy {
    var policy = defaultPolicy
    policy.conflict = options.conflict
    if let timeToLive = options.timeToLive {
      policy.timeToLive = UInt64(min(max(1, timeToLive / .milliseconds(1)), Self.longestTimeToLive))
    }
    policy.detectsForeignEdits = options.detectsForeignEdits
    policy.maximumBytes = options.maximumBytes
    policy.replicas = options.replicas
    policy.keepsUnreadableMembers = options.unreadableMembers == .keepLast
    return policy
  }

  func coder(
    completedBy defaultValue: Value?,
    whenRead: @escaping @Sendable (_ completed: [[String]], _ unknown: ([[String]]) -> [String]) -> Void = { _, _ in },
    whenOfOtherShape: @escaping @Sendable () -> Void = {}
  ) -> DocumentCoder<Value> {
    let coder = ValueCoder(
      options.encoder,
      options.decoder,
      usesArraysForDictionaries: options.usesArraysForDictionaries,
      completedBy: defaultValue
    )
    return DocumentCoder(
      encode: { value in encoded { try coder.encode(value) } },
      read: { document, last in
        decoded(document) { try read(document, last: last, coder) }.flatMap { mended in
          let completed = mended.completed
          if completed.isOfOtherShape {
            if options.isStrict { return .failure(otherShape) }
            whenOfOtherShape()
          }
          whenRead(completed.paths) { coder.unknownMembers(of: document, beside: $0, in: completed.value) }
          var reading = DocumentCoder.Reading(value: completed.value)
          if !mended.failures.isEmpty { reading.unreadableMembers = .unreadableMembers(name: name, mended.failures) }
          return .success(reading)
        }
      },
      form: { coder.formed($0) },
      rules: DocumentCoder.Rules(
        name: name,
        maximumBytes: options.maximumBytes,
        removal: options.removal,
        refusal: { refusal(of: $0) }
      )
    )
  }

  /// Reads a document as the option for unreadable members says.
  private func read(
    _ document: Data,
    last: Data?,
    _ coder: ValueCoder<Value>
  ) throws -> ValueCoder<Value>.Mended {
    // A change that keeps nothing of the stored document would erase what cannot be read.
    let mayMend = options.conflict.keepsOtherChanges
    return switch options.unreadableMembers {
    case .keepLast where mayMend: try coder.decode(document, mendedBy: last)
    case .useDefault where mayMend: try coder.decode(document, mendedBy: nil)
    case .hold, .keepLast, .useDefault: ValueCoder<Value>.Mended(completed: try coder.decode(document))
    }
  }

  func value(ofAbsent initialValue: Value) -> Value { initialValue }

  // The methods below serve keys that are built on top of this one. They go through the same box as all shares, so
  // that there is one replica for them all.

  /// Reads the stored value.
  public func load(context: LoadContext<Value>, continuation: LoadContinuation<Value>) {
    switch names {
    case .failure(let error):
      continuation.resume(throwing: error)
    case .success(let names):
      let snapshot = options.acceptsSnapshot ? store.link.snapshotFile?.state(of: Name(name)) : nil
      _ = store.link.ask { result in
        let coder = coder(completedBy: context.initialValue)
        continuation.resume(
          with: Result {
            let content = try content(result, or: snapshot)
            return try content.flatMap { content throws(RedisSharedStateError) in try coder.accept(content)?.value }
          }
        )
      } _: { state, callback throws(RedisSharedStateError) in
        // A caller that has something to start with waits for one attempt to connect.
        try state.read(
          names,
          maximumBytes: options.maximumBytes,
          within: snapshot.map { _ in store.link.connectTimeout },
          now: .now,
          callback: callback
        )
      }
    }
  }

  /// What is stored, or what the snapshot has if Redis does not answer, or refuses to.
  private func content(
    _ result: Result<StoredValue?, RedisSharedStateError>,
    or snapshot: SnapshotState?
  ) throws(RedisSharedStateError) -> StoredValue.Content? {
    if let snapshot, case .failure(let error) = result, error.code != .stopped { return snapshot.state.content }
    return try result.get()?.content
  }

  /// Yields the value whenever any service changes it. Local changes are yielded even without a connection.
  public func subscribe(context: LoadContext<Value>, subscriber: SharedSubscriber<Value>) -> SharedSubscription {
    guard let initialValue = context.initialValue else { return SharedSubscription {} }
    let reader = SharedReader(wrappedValue: initialValue, self)
    let task = Task {
      for await value in reader.updates { subscriber.yield(value) }
    }
    return SharedSubscription { task.cancel() }
  }

  /// Changes the value as `withLock` does, and resumes the continuation once Redis has acknowledged it.
  public func save(_ value: Value, context: SaveContext, continuation: SaveContinuation) {
    let shared = Shared(wrappedValue: value, self)
    KeyTasks.run {
      // The stored value has to be known first: the new value is a change of that, not of the default.
      try? await shared.load()
      shared.withLock { $0 = value }
      do {
        try await shared.save(replacingUnreadable: context == .replacingUnreadable)
        continuation.resume()
      } catch {
        continuation.resume(throwing: error)
      }
    }
  }

  /// Deletes the stored value, as `reset()` does, and resumes the continuation once Redis has acknowledged it.
  public func reset(to initialValue: Value, continuation: SaveContinuation) {
    let shared = Shared(wrappedValue: initialValue, self)
    KeyTasks.run {
      do {
        try await shared.reset()
        continuation.resume()
      } catch {
        continuation.resume(throwing: error)
      }
    }
  }
}

private let standardEncoder = JSONEncoder()
private let standardDecoder = JSONDecoder()

extension RedisSharedKey {
  /// The error for a stored object that has none of the members of the value's type.
  private var otherShape: RedisSharedStateError {
    .undecodable(name: name, reason: "it has no member that \(Value.self) has, so it is another value", writer: nil)
  }

  /// Why the key refuses a value; `nil`: it accepts it.
  private func refusal(of value: Value) -> RedisSharedStateError? {
    guard let validate = options.validate else { return nil }
    do {
      try validate(value)
      return nil
    } catch {
      return .rejected(name: name, reason: "\(error)", writer: nil)
    }
  }

  /// The error names the case and the coding path, never a value.
  private func encoded(_ encode: () throws -> Data) -> Result<Data, RedisSharedStateError> {
    do {
      return .success(try encode())
    } catch {
      return .failure(.encodingFailed(name: name, reason: CodingErrorSummary.text(of: error)))
    }
  }

  /// The error names the case and the coding path, never a value.
  private func decoded<Decoded>(
    _ document: Data,
    _ decode: () throws -> Decoded
  ) -> Result<Decoded, RedisSharedStateError> {
    do {
      return .success(try decode())
    } catch {
      let failure = (error as? DecodingError).map { DecodingFailure($0, in: document) }
      let reason = failure?.description ?? CodingErrorSummary.text(of: error)
      return .failure(.undecodable(name: name, reason: reason, writer: nil))
    }
  }
}

/// Identifies a shared value in Redis.
public struct RedisKeyID: Hashable, Sendable {
  let name: Name
  let store: ObjectIdentifier
}

extension RedisSharedKey: ReplicatedKey {
  var access: RedisAccess { store.access }
  var valueType: String? { String(reflecting: Value.self) }
  var isPlain: Bool { options.validate == nil && Value.self is any PlainValue.Type }
}

extension RedisSharedKey: StorageFindingKey {
  package var maker: @Sendable () -> Self {
    guard findsStorage else { return { self } }
    return { [name, options] in Self(name, store: nil, options: options) }
  }
}
