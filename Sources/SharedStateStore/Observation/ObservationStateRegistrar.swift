/// Notifies the readers of an observable state of changes.
///
/// While the state has no observers, reading a property costs only a check for observers, and changing a property only
/// a number.
@frozen
public struct ObservationStateRegistrar: Sendable {
  @usableFromInline
  var subject: ObservationSubject
  @usableFromInline
  var version = StateVersion()

  /// A registrar of a new state.
  @inlinable
  public init() {
    subject = ObservationSubject()
  }

  /// The identity of the state.
  public var id: ObservableStateID { ObservableStateID(subject, version) }

  /// Records that a property is read.
  @inlinable
  public func access(_ property: StaticString) {
    if ObservationDetector.isTracking { subject.addAccess(property) }
  }

  /// Prepares for setting or modifying a property.
  @inlinable
  public mutating func willChange() {
    let isCopied = !isKnownUniquelyReferenced(&subject)
    version.change(isCopied: isCopied, readings: subject.readings)
  }

  // MARK: - Values without an identity

  /// Sets a property, and notifies its readers.
  @_disfavoredOverload
  @inlinable
  public func set<Value>(_ property: StaticString, _ value: inout Value, to newValue: Value) {
    value = newValue
    if subject.isObserved { subject.notify(property) }
  }

  /// Sets a property, and notifies its readers if the value has changed.
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

  /// Ends a change of a property in place, and notifies its readers.
  @_disfavoredOverload
  @inlinable
  public func didModify<Value>(_ property: StaticString, _ value: Value, _ before: ObservableStateID?) {
    if subject.isObserved { subject.notify(property) }
  }

  // MARK: - Values with an identity

  /// Sets a property. Its readers are notified if it is another state then, or an old copy of the same state.
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

  /// Ends a change of a property in place. Its readers are notified if it is another state now, or an old copy of the
  /// same state.
  @inlinable
  public func didModify<Value: ObservedByIdentity>(
    _ property: StaticString,
    _ value: Value,
    _ before: ObservableStateID?
  ) {
    // An observer that was added meanwhile has to be notified, too.
    if subject.isObserved, before.map({ !$0.isContinued(by: value._$id) }) ?? true {
      subject.notify(property)
    }
  }
}

// A state is equal by its properties, not by its observers.

extension ObservationStateRegistrar: Hashable {
  /// Always true.
  @inlinable
  public static func == (one: Self, other: Self) -> Bool { true }

  /// Adds nothing.
  @inlinable
  public func hash(into hasher: inout Hasher) {}
}

extension ObservationStateRegistrar: Codable {
  /// A registrar of a new state.
  public init(from decoder: any Decoder) throws { self.init() }

  /// Writes nothing.
  public func encode(to encoder: any Encoder) throws {}
}

extension ObservationStateRegistrar: CustomReflectable {
  /// Shows nothing, because nothing in it distinguishes states.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
