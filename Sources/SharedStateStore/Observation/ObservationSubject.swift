public import Observation
public import Synchronization

/// What a state and its copies have in common: those who observe it.
///
/// A state is a value, and observations have to find it again after it has been copied and changed.
@usableFromInline
final class ObservationSubject: Observable, Sendable {
  @usableFromInline
  let readingCount = Atomic<UInt64>(0)
  private let registrar = Mutex<ObservationRegistrar?>(nil)

  @usableFromInline
  init() {}

  /// How often a property has been read by somebody who observes it.
  @inlinable
  var readings: UInt64 { readingCount.load(ordering: .relaxed) }

  /// Whether anybody has ever observed it. Nobody is told before that.
  @inlinable
  var isObserved: Bool { readings > 0 }

  /// What a key path leads to. It is never asked for: key paths are compared only.
  private subscript(property: String) -> Never {
    preconditionFailure("The property '\(property)' of an observed state has no value here.")
  }

  private static func keyPath(_ property: StaticString) -> any KeyPath<ObservationSubject, Never> & Sendable {
    let property = property.description
    return \.[property]
  }

  @usableFromInline
  func addAccess(_ property: StaticString) {
    let registrar = registrar.withLock { registrar in
      if let registrar { return registrar }
      let new = ObservationRegistrar()
      registrar = new
      return new
    }
    readingCount.add(1, ordering: .sequentiallyConsistent)
    ThreadRecord.current.contents.pointee.readings &+= 1
    registrar.access(self, keyPath: Self.keyPath(property))
  }

  /// Tells those who have read the property.
  @usableFromInline
  func notify(_ property: StaticString) {
    if ObservationDelivery.postpone(self, property) { return }
    tell(property)
  }

  func tell(_ property: StaticString) {
    guard let registrar = registrar.withLock({ $0 }) else { return }
    let keyPath = Self.keyPath(property)
    registrar.willSet(self, keyPath: keyPath)
    registrar.didSet(self, keyPath: keyPath)
  }
}

extension ObservationSubject: Hashable {
  @usableFromInline
  static func == (one: ObservationSubject, other: ObservationSubject) -> Bool { one === other }

  @usableFromInline
  func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
