extension Shared where Value: Sendable {
  /// Shares a value that a key keeps.
  ///
  /// - Parameters:
  ///   - wrappedValue: The default: the value until one is loaded, and while none is stored. Evaluated only when no
  ///     share of the key exists yet.
  ///   - key: The key that keeps the value.
  public init(
    wrappedValue: @autoclosure () -> Value,
    _ key: some SharedKey<Value>,
    fileID: StaticString = #fileID,
    line: UInt = #line
  ) {
    self.init(
      box(of: key, default: wrappedValue),
      declaredAt: ShareOrigin(fileID: fileID, line: line)
    )
  }

  /// Shares an optional value that a key keeps; `nil` when nothing is stored. A key of the same name that has a default
  /// is preferred.
  @_disfavoredOverload
  public init<Wrapped>(
    _ key: some SharedKey<Value>,
    fileID: StaticString = #fileID,
    line: UInt = #line
  ) where Value == Wrapped? {
    self.init(wrappedValue: nil, key, fileID: fileID, line: line)
  }

  /// Unavailable: a key without a default needs one here.
  @available(*, unavailable, message: "Give a default: '@Shared(key) var value = default'.")
  public init(_ key: some SharedKey<Value>) {
    fatalError("This initialiser is unavailable: give a default.")
  }

  /// Shares a value that a key with a default keeps.
  public init<Key: SharedKey<Value>>(
    _ key: Key.Default,
    fileID: StaticString = #fileID,
    line: UInt = #line
  ) {
    self.init(wrappedValue: key.initialValue, key.base, fileID: fileID, line: line)
  }

  /// Shares a value that a key with a default keeps, with another default here.
  public init<Key: SharedKey<Value>>(
    wrappedValue: @autoclosure () -> Value,
    _ key: Key.Default,
    fileID: StaticString = #fileID,
    line: UInt = #line
  ) {
    self.init(wrappedValue: wrappedValue(), key.base, fileID: fileID, line: line)
  }

  /// Loads the value that a key keeps, and shares it. The key watches it from then on.
  ///
  /// - Throws: ``NothingStoredError`` when nothing is stored, the key's error, or `CancellationError`.
  public init(
    require key: some SharedKey<Value>,
    fileID: StaticString = #fileID,
    line: UInt = #line
  ) async throws {
    let value = try await requiredValue(of: key)
    self.init(
      box(of: key, loads: false, default: { value }),
      declaredAt: ShareOrigin(fileID: fileID, line: line)
    )
  }

  /// Loads the value that a key with a default keeps, and shares it. The default is not used.
  ///
  /// - Throws: ``NothingStoredError`` when nothing is stored, the key's error, or `CancellationError`.
  public init<Key: SharedKey<Value>>(
    require key: Key.Default,
    fileID: StaticString = #fileID,
    line: UInt = #line
  ) async throws {
    try await self.init(require: key.base, fileID: fileID, line: line)
  }

  /// Points this share and its copies to the value that another key keeps, and loads that.
  ///
  /// Until it is loaded, the value stays the same, or is the one that other shares of the new key have.
  /// - Throws: The key's error, or `CancellationError`.
  public func load(_ key: some SharedKey<Value>) async throws {
    projection.swap { box(of: key, loads: false, default: $0) }
    try await load()
  }

  /// Points this share and its copies to the value that another key keeps, and loads that.
  ///
  /// - Throws: The key's error, or `CancellationError`.
  public func load<Key: SharedKey<Value>>(_ key: Key.Default) async throws {
    projection.swap { _ in box(of: key.base, loads: false, default: { key.initialValue }) }
    try await load()
  }
}

extension SharedReader where Value: Sendable {
  /// Reads a value that a key keeps.
  ///
  /// - Parameters:
  ///   - wrappedValue: The default: the value until one is loaded, and while none is stored. Evaluated only when no
  ///     share of the key exists yet.
  ///   - key: The key that keeps the value.
  public init(wrappedValue: @autoclosure () -> Value, _ key: some SharedReaderKey<Value>) {
    self.init(readOnlyBox(of: key, default: wrappedValue).place)
  }

  /// Reads an optional value that a key keeps; `nil` when nothing is stored. A key of the same name that has a default
  /// is preferred.
  @_disfavoredOverload
  public init<Wrapped>(_ key: some SharedReaderKey<Value>) where Value == Wrapped? {
    self.init(wrappedValue: nil, key)
  }

  /// Unavailable: a key without a default needs one here.
  @available(*, unavailable, message: "Give a default: '@SharedReader(key) var value = default'.")
  public init(_ key: some SharedReaderKey<Value>) {
    fatalError("This initialiser is unavailable: give a default.")
  }

  /// Reads a value that a key with a default keeps.
  public init<Key: SharedReaderKey<Value>>(_ key: Key.Default) {
    self.init(wrappedValue: key.initialValue, key.base)
  }

  /// Reads a value that a key with a default keeps, with another default here.
  public init<Key: SharedReaderKey<Value>>(wrappedValue: @autoclosure () -> Value, _ key: Key.Default) {
    self.init(wrappedValue: wrappedValue(), key.base)
  }

  /// Loads the value that a key keeps, and reads it. The key watches it from then on.
  ///
  /// - Throws: ``NothingStoredError`` when nothing is stored, the key's error, or `CancellationError`.
  public init(require key: some SharedReaderKey<Value>) async throws {
    let value = try await requiredValue(of: key)
    self.init(readOnlyBox(of: key, loads: false, default: { value }).place)
  }

  /// Loads the value that a key with a default keeps, and reads it. The default is not used.
  ///
  /// - Throws: ``NothingStoredError`` when nothing is stored, the key's error, or `CancellationError`.
  public init<Key: SharedReaderKey<Value>>(require key: Key.Default) async throws {
    try await self.init(require: key.base)
  }

  /// Points this reader and its copies to the value that another key keeps, and loads that.
  ///
  /// - Throws: The key's error, or `CancellationError`.
  public func load(_ key: some SharedReaderKey<Value>) async throws {
    projection.swap { readOnlyBox(of: key, loads: false, default: $0) }
    try await load()
  }

  /// Points this reader and its copies to the value that another key keeps, and loads that.
  ///
  /// - Throws: The key's error, or `CancellationError`.
  public func load<Key: SharedReaderKey<Value>>(_ key: Key.Default) async throws {
    projection.swap { _ in readOnlyBox(of: key.base, loads: false, default: { key.initialValue }) }
    try await load()
  }
}

extension Projection {
  /// Points this projection to the value that a key keeps. Notifies no observer that has seen the value already.
  ///
  /// - Parameter find: Finds the box of the key; takes the present value, for the default.
  fileprivate func swap(_ find: (() -> Value) -> ValueBox<Value>) {
    let former = place
    let (present, before) = former.snapshot()
    var isMade = false
    let place = find {
      isMade = true
      return present
    }.place
    let (value, now) = place.snapshot()
    // Values that cannot be compared: a box that was made with the present value holds that until its first change.
    let isSame = Equality.areEqual(value, present) ?? (isMade && now == 0)
    swap(place, sameAs: isSame ? (former.box, before, now) : nil)
  }
}

private func requiredValue<Key: SharedReaderKey>(of key: Key) async throws -> Key.Value {
  let value: Key.Value? = try await withKeyContinuation { continuation in
    key.load(
      context: .userInitiated,
      continuation: LoadContinuation("The LoadContinuation of \(Key.self)") { continuation.resume(with: $0) }
    )
  }
  guard let value else { throw NothingStoredError() }
  return value
}
