import IssueReporting
public import SharedStateDependencies
import Synchronization

extension SharedReaderKey {
  /// Holds a value in memory, for all shares of the same name and type, as long as the process runs.
  ///
  /// A name that is used with two types stands for two values, which is reported once.
  ///
  /// In a test, every test has values of its own.
  /// - Parameter name: Distinguishes this value from others of its type.
  public static func inMemory<Value>(_ name: String) -> Self where Self == InMemoryKey<Value> {
    InMemoryKey(name)
  }
}

/// Holds a value in memory as long as the process runs; made with ``SharedReaderKey/inMemory(_:)``.
public struct InMemoryKey<Value: Sendable>: SharedKey {
  private let name: Name
  private let storage: InMemoryStorage

  init(_ name: String) {
    self.name = Name(name)
    storage = DependencyValues.current.defaultInMemoryStorage
  }

  /// The name, and the storage that holds it.
  public var id: InMemoryKeyID {
    InMemoryKeyID(name: name, storage: ObjectIdentifier(storage))
  }

  /// The box that the storage holds.
  @_documentation(visibility: private)
  public func _ownBox(default initialValue: () -> Value) -> _OwnBox<Value>? {
    _OwnBox(box(default: initialValue))
  }

  private func box(default initialValue: () -> Value) -> ValueBox<Value> {
    storage.box(name: name, default: initialValue)
  }

  /// Loads the value that is held, if any.
  public func load(context: LoadContext<Value>, continuation: LoadContinuation<Value>) {
    let held: ValueBox<Value>? = storage.existingBox(name: name)
    continuation.resume(with: .success(held?.value))
  }

  /// Yields every change that is made through a share of the name.
  public func subscribe(context: LoadContext<Value>, subscriber: SharedSubscriber<Value>) -> SharedSubscription {
    guard let initialValue = context.initialValue else { return SharedSubscription {} }
    let reader = SharedReader(box(default: { initialValue }).place)
    let task = Task {
      for await value in reader.updates { subscriber.yield(value) }
    }
    return SharedSubscription { task.cancel() }
  }

  /// Holds the value.
  public func save(_ value: Value, context: SaveContext, continuation: SaveContinuation) {
    Shared(box(default: { value }).place).withLock { $0 = value }
    continuation.resume()
  }
}

extension InMemoryKey: StorageFindingKey {
  package var findsStorage: Bool { true }

  package var maker: @Sendable () -> Self {
    let name = name.text
    return { Self(name) }
  }
}

extension InMemoryKey: CustomStringConvertible {
  /// How the key is made.
  public var description: String { ".inMemory(\(String(reflecting: name.text)))" }
}

/// Distinguishes one value in memory from another.
public struct InMemoryKeyID: Hashable, Sendable {
  let name: Name
  let storage: ObjectIdentifier
}

/// Holds the values of ``SharedReaderKey/inMemory(_:)`` keys.
public final class InMemoryStorage: Sendable {
  private struct State {
    /// By type of value and by name. They are held, so that a value in memory costs no more than one without a key.
    var boxes: [ObjectIdentifier: [Name: Box]] = [:]
    /// Counts the boxes.
    var count = 0
    var typeNames: [ObjectIdentifier: String] = [:]
    var namesOfTwoTypes: Set<Name> = []

    func box(_ type: ObjectIdentifier, _ name: Name) -> Box? {
      boxes[type]?[name]
    }

    /// Holds a new box.
    ///
    /// - Returns: The type of another value of the same name, the first time. It is found by searching the types, so
    ///   that a name needs no memory for this.
    mutating func insert(_ box: Box, as valueType: Any.Type, _ name: Name) -> String? {
      let type = ObjectIdentifier(valueType)
      if boxes[type] == nil { typeNames[type] = "\(valueType)" }
      boxes[type, default: [:]][name] = box
      count += 1
      guard typeNames.count > 1, !namesOfTwoTypes.contains(name) else { return nil }
      let other = typeNames.first { $0.key != type && boxes[$0.key]?[name] != nil }
      if other != nil { namesOfTwoTypes.insert(name) }
      return other?.value
    }
  }

  private let state = Mutex(State())

  /// Makes an empty storage.
  public init() {}

  /// The name under which a box is held. It looks at all boxes of the type.
  func name(of box: Box, valueType: Any.Type) -> Name? {
    state.withLock { $0.boxes[ObjectIdentifier(valueType)]?.first { $0.value === box }?.key }
  }

  func existingBox<Value>(name: Name) -> ValueBox<Value>? {
    state.withLock { $0.box(ObjectIdentifier(Value.self), name) }.map(Self.unwrap)
  }

  func box<Value>(name: Name, default initialValue: () -> Value) -> ValueBox<Value> {
    let type = ObjectIdentifier(Value.self)
    let (existing, count) = state.withLock { ($0.box(type, name), $0.count) }
    if let existing { return Self.unwrap(existing) }
    // The default is user code, so it runs without the lock; the first thread that has a value wins.
    let made = ValueBox(inMemory: initialValue())
    let (kept, otherType) = state.withLock { state -> (Box, String?) in
      // Looked up again only if a box was added meanwhile.
      if state.count != count, let existing = state.box(type, name) { return (existing, nil) }
      return (made, state.insert(made, as: Value.self, name))
    }
    if let otherType {
      reportIssue(
        """
        The name '\(name)' is used in memory with two types of value, '\(otherType)' and '\(Value.self)'. These are two \
        values, and neither follows the other. Use one type, or two names.
        """
      )
    }
    return Self.unwrap(kept)
  }

  private static func unwrap<Value>(_ box: Box) -> ValueBox<Value> {
    // It was found under the type of its value, so the class is certain; a checked cast takes 30 ns.
    unsafeDowncast(box, to: ValueBox<Value>.self)
  }
}

extension InMemoryStorage: Hashable {
  /// Whether both are the same storage.
  public static func == (lhs: InMemoryStorage, rhs: InMemoryStorage) -> Bool {
    lhs === rhs
  }

  /// Hashes the identity of the storage.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(ObjectIdentifier(self))
  }
}

extension DependencyValues {
  /// Holds the values of ``SharedReaderKey/inMemory(_:)`` keys. In a test every test has its own.
  public var defaultInMemoryStorage: InMemoryStorage {
    get { self[InMemoryStorageKey.self] }
    set { self[InMemoryStorageKey.self] = newValue }
  }

  private enum InMemoryStorageKey: DependencyKey {
    static let liveValue = InMemoryStorage()
    static var testValue: InMemoryStorage { InMemoryStorage() }
  }
}
