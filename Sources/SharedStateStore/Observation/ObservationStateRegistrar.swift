/// What an observable state has to tell its readers with.
///
/// While nobody observes the state, reading a property costs the question whether anybody does, and changing one a
/// number.
@frozen
public struct ObservationStateRegistrar: Sendable {
  @usableFromInline
  var subject: ObservationSubject
  @usableFromInline
  var version = StateVersion()

  /// That of a new state.
  @inlinable
  public init() {
    subject = ObservationSubject()
  }

  /// Which state this is.
  public var id: ObservableStateID { ObservableStateID(subject, version) }

  /// Says that a property is read.
  @inlinable
  public func access(_ property: StaticString) {
    if ObservationDetector.isTracking { subject.addAccess(property) }
  }

  /// Says that a property is about to be set or modified.
  @inlinable
  public mutating func willChange() {
    let isCopied = !isKnownUniquelyReferenced(&subject)
    version.change(isCopied: isCopied, readings: subject.readings)
  }

  // MARK: - Values without an identity

  /// Sets a property. Its readers hear of it.
  @_disfavoredOverload
  @inlinable
  public func set<Value>(_ property: StaticString, _ value: inout Value, to newValue: Value) {
    value = newValue
    if subject.isObserved { subject.notify(property) }
  }

  /// Sets a property. Its readers hear of it when it is another value then.
  @_disfavoredOverload
  @inlinable
  public func set<Value: Equatable>(_ property: StaticString, _ value: inout Value, to newValue: Value) {
    let isObserved = subject.isObserved
    let isSame = isObserved && value == newValue
    value = newValue
    if isObserved, !isSame { subject.notify(property) }
  }

  /// Prepares for a change of a property in place.
  @_disfavoredOverload
  @inlinable
  public mutating func willModify<Value>(_ value: Value) -> ObservableStateID? {
    willChange()
    return nil
  }

  /// Ends a change of a property in place. Its readers hear of it.
  @_disfavoredOverload
  @inlinable
  public func didModify<Value>(_ property: StaticString, _ value: Value, _ before: ObservableStateID?) {
    if subject.isObserved { subject.notify(property) }
  }

  // MARK: - Values with an identity

  /// Sets a property. Its readers hear of it when it is another state then, or an old copy of the same.
  @inlinable
  public func set<Value: ObservedByIdentity>(
    _ property: StaticString,
    _ value: inout Value,
    to newValue: Value
  ) {
    let before = subject.isObserved ? value._$id : nil
    value = newValue
    didModify(property, value, before)
  }

  /// Prepares for a change of a property in place.
  @inlinable
  public mutating func willModify<Value: ObservedByIdentity>(_ value: Value) -> ObservableStateID? {
    willChange()
    return subject.isObserved ? value._$id : nil
  }

  /// Ends a change of a property in place. Its readers hear of it when it is another state now, or an old copy of the
  /// same.
  @inlinable
  public func didModify<Value: ObservedByIdentity>(
    _ property: StaticString,
    _ value: Value,
    _ before: ObservableStateID?
  ) {
    // Who has begun to observe it meanwhile has to hear of it, too.
    if subject.isObserved, before.map({ !$0.isContinued(by: value._$id) }) ?? true {
      subject.notify(property)
    }
  }
}

// A state is what its properties are, and not who observes them.

extension ObservationStateRegistrar: Hashable {
  /// Always true.
  @inlinable
  public static func == (one: Self, other: Self) -> Bool { true }

  /// Adds nothing.
  @inlinable
  public func hash(into hasher: inout Hasher) {}
}

extension ObservationStateRegistrar: Codable {
  /// That of a new state.
  public init(from decoder: any Decoder) throws { self.init() }

  /// Writes nothing.
  public func encode(to encoder: any Encoder) throws {}
}

extension ObservationStateRegistrar: CustomReflectable {
  /// Nothing is in it that tells states apart.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
