public import Foundation
public import SharedState

extension SharedReaderKey {
  /// Shares a value with every service that uses the same name on the same Redis.
  ///
  /// The value is kept as a JSON document under the name. Reading is a local memory read; a change is visible here at
  /// once, and everywhere else as soon as Redis has passed it on.
  ///
  /// - Parameters:
  ///   - name: The name in Redis, below the store's namespace. Not empty, at most 512 bytes, without control characters
  ///     and braces. It is its bytes: two ways to write an "é" are two names, as they are to Redis. A name that is not usable shows as ``RedisSharedStateError/Code/invalidName`` in `loadError`.
  ///   - store: The Redis; `nil` for the dependency `defaultRedisStore`.
  ///   - options: What becomes of conflicts, how long the value is kept, how it is encoded, and how large it may become.
  ///     Where the name is shared already, the options of its first share hold, and other ones are reported.
  public static func redis<Value: Codable & Sendable>(
    _ name: String,
    store: RedisStore? = nil,
    options: RedisSharedKey<Value>.Options = .standard
  ) -> Self where Self == RedisSharedKey<Value> {
    RedisSharedKey(name, store: store, options: options)
  }

  /// Shares a value with every service that uses the same name on the same Redis, and refuses what is not valid.
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
  ///   - options: What else there is to say; their `validate` is replaced.
  ///   - validate: Throws what is wrong with a value: see ``RedisSharedKey/Options/validate``. In an attribute, as here,
  ///     the compiler wants to be told that the closure is `@Sendable`.
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
  /// All shares of one name, in one store, are one value, so the options of the first of them hold for as long as any of
  /// them lives. Other ones are not applied. That is reported, once for each name and option: in a test as an issue,
  /// otherwise, and on threads that a test has started itself, in the log of the store, as a warning. Encoders, decoders
  /// and rules cannot be compared, but for whether there are rules; the first ones hold, too.
  public struct Options: Sendable {
    /// The largest document that is sent or read, in bytes; 1 MiB by default.
    ///
    /// A value over the limit stays in the box, unsent, with ``RedisSharedStateError/Code/valueTooLarge``
    /// as its `saveError`. A document over the limit that somebody else has stored is not read: the box keeps the last
    /// value, with the same error as its `loadError`.
    public var maximumBytes: Int

    /// What becomes of a local change when somebody else has changed the value at the same time; both are merged by
    /// default.
    public var conflict: ConflictPolicy

    /// How long the value is kept after its last change; `nil`, the default: for ever. At least a millisecond.
    ///
    /// When it is over, everybody returns to their default. Of services that disagree the one that wrote last decides.
    public var timeToLive: Duration?

    /// Whether edits by `redis-cli`, or a program in another language, are noticed within about 40 milliseconds, and get a
    /// revision; they are by default.
    ///
    /// Otherwise this service notices them when everything is compared, after ``RedisConfiguration/antiEntropyInterval``, and
    /// gives them none.
    public var detectsForeignEdits: Bool

    /// What comes of a field, an entry or an element that one service removes while another one changes it; by default
    /// what the later commit did. It counts where ``conflict`` merges.
    public var removal: RemovalPolicy

    /// Whether dictionaries whose keys are neither strings nor integers are written as arrays of keys and values, as
    /// `JSONEncoder` writes them: for documents that other Swift programs decode. They are read in both forms. By default
    /// they are objects, whose entries are merged one by one; an array is replaced whole.
    public var usesArraysForDictionaries: Bool

    /// How the document is made: its settings count. A subclass may be called on any thread.
    public var encoder: JSONEncoder

    /// How the document is read: its settings count. A subclass may be called on any thread.
    public var decoder: JSONDecoder

    /// Refuses values: throws what is wrong with one. `nil`, the default: whatever can be decoded is right.
    ///
    /// A local change that it refuses is not sent, and ``RedisSharedStateError/Code/rejected`` is thrown, or
    /// its `saveError`. A document that it refuses is held like one that cannot be decoded: the last good value stays. Of
    /// two changes that are right by themselves, and not together, the later one is refused.
    ///
    /// It may be called on any thread and often, so keep it short: it must not use shares. What it throws is described
    /// in errors and in the log, so it had better name no value.
    public var validate: (@Sendable (Value) throws -> Void)?

    /// The default options: merged, kept for ever, up to 1 MiB, and plain JSON.
    public init(
      conflict: ConflictPolicy = .merge,
      removal: RemovalPolicy = .laterWins,
      timeToLive: Duration? = nil,
      maximumBytes: Int = 1 << 20,
      encoder: JSONEncoder = .init(),
      decoder: JSONDecoder = .init(),
      usesArraysForDictionaries: Bool = false,
      detectsForeignEdits: Bool = true,
      validate: (@Sendable (Value) throws -> Void)? = nil
    ) {
      self.conflict = conflict
      self.removal = removal
      self.usesArraysForDictionaries = usesArraysForDictionaries
      self.timeToLive = timeToLive
      self.detectsForeignEdits = detectsForeignEdits
      self.maximumBytes = maximumBytes
      self.encoder = encoder
      self.decoder = decoder
      self.validate = validate
    }

    /// The default options, whose encoder and decoder all keys share: making them costs as much as a look-up.
    ///
    /// Nobody outside can get hold of them to set them up differently.
    @usableFromInline
    static var standard: Self {
      Self(encoder: standardEncoder, decoder: standardDecoder)
    }
  }

  let name: String
  let store: RedisStore
  package let findsStorage: Bool
  let options: Options

  /// The names in Redis, or why the name is not usable. Made when they are needed, which is only for a new box.
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

  /// How the key is made.
  public var description: String { ".redis(\(String(reflecting: name)))" }

  /// The box that the store's registry holds.
  @_documentation(visibility: private)
  public func _ownBox(default initialValue: () -> Value) -> _OwnBox<Value>? {
    _OwnBox(box(default: initialValue))
  }

  private func box(default initialValue: () -> Value) -> ValueBox<Value> {
    var made: RedisPersistence<Value>?
    let box = store.registry.box(id: .name(Name(name))) {
      let value = initialValue()
      let persistence = RedisPersistence(key: self, initialValue: value)
      made = persistence
      return ValueBox(value, persistence: persistence)
    } start: { box in
      made?.start(box)
    }
    if let first = box.persistence, first !== made {
      // The store's registry has no other class for this type of value; a cast that checks takes longer than the rest.
      compareOptions(with: unsafeDowncast(first, to: RedisPersistence<Value>.self).options)
    }
    return box
  }

  private func compareOptions(with first: Options) {
    for option in options.differences(from: first) {
      store.report(option, of: name, ignored: options.text(of: option), kept: first.text(of: option))
    }
  }

  /// In milliseconds, a thousand years: what expires later than that has no place in the numbers of a script.
  private static var longestTimeToLive: Double { 31_556_952_000_000 }

  /// How the replica of the value deals with it.
  var policy: ReplicaPolicy {
    ReplicaPolicy(
      conflict: options.conflict,
      dataLoss: store.dataLoss,
      timeToLive: options.timeToLive.map { UInt64(min(max(1, $0 / .milliseconds(1)), Self.longestTimeToLive)) } ?? 0,
      detectsForeignEdits: options.detectsForeignEdits,
      maximumBytes: options.maximumBytes,
      writer: store.writer
    )
  }

  /// Makes and reads the documents.
  /// - Parameters:
  ///   - defaultValue: What members are taken from that a document lacks and the type requires.
  ///   - whenCompleted: Takes the paths of those members.
  func coder(
    completedBy defaultValue: Value?,
    whenCompleted: @escaping @Sendable ([[String]]) -> Void = { _ in }
  ) -> DocumentCoder<Value> {
    let coder = ValueCoder(
      options.encoder,
      options.decoder,
      usesArraysForDictionaries: options.usesArraysForDictionaries,
      completedBy: defaultValue
    )
    return DocumentCoder(
      encode: { value in encoded { try coder.encode(value) } },
      decode: { document in
        decoded(document) { try coder.decode(document) }.map { completed in
          if !completed.paths.isEmpty { whenCompleted(completed.paths) }
          return completed.value
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

  // The methods below serve keys that are built on top of this one. They go through the same box as everybody
  // else, so that there is one replica for them all.

  /// Reads what is stored.
  public func load(context: LoadContext<Value>, continuation: LoadContinuation<Value>) {
    switch names {
    case .failure(let error):
      continuation.resume(throwing: error)
    case .success(let names):
      _ = store.link.read(names, maximumBytes: options.maximumBytes) { result in
        let coder = coder(completedBy: context.initialValue)
        continuation.resume(with: result.mapError { $0 }.flatMap { stored in decode(stored, coder).mapError { $0 } })
      }
    }
  }

  /// Yields the value whenever it changes, whoever changed it, also while there is no connection.
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
      // What is stored has to be known first: the value is a change of that, not of the default.
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

  /// Deletes what is stored, as `reset()` does, and resumes the continuation once Redis has acknowledged it.
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

  private func decode(_ stored: StoredValue?, _ coder: DocumentCoder<Value>) -> Result<Value?, RedisSharedStateError> {
    switch stored?.content {
    case nil, .absent: .success(nil)
    case .otherType(let type): .failure(.wrongType(type, name: name))
    case .oversized(let bytes): .failure(oversized(bytes))
    case .document(let document): coder.accept(document).map { $0 }
    }
  }
}

private let standardEncoder = JSONEncoder()
private let standardDecoder = JSONDecoder()

extension RedisSharedKey {
  /// What is stored is not read, because it is larger than the options allow.
  func oversized(_ bytes: Int) -> RedisSharedStateError {
    .valueTooLarge(name: name, bytes: bytes, maximumBytes: options.maximumBytes)
  }

  /// Why the key refuses a value; `nil`: it does not.
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

/// What tells one shared value in Redis from another.
public struct RedisKeyID: Hashable, Sendable {
  let name: Name
  let store: ObjectIdentifier
}

extension RedisSharedKey: StorageFindingKey {
  package var maker: @Sendable () -> Self {
    guard findsStorage else { return { self } }
    return { [name, options] in Self(name, store: nil, options: options) }
  }
}
