public import Observation
public import Synchronization

/// The observers that a state and its copies have in common.
///
/// A state is a value, and observations have to find it again after it has been copied and changed.
@usableFromInline
final class ObservationSubject: Observable, Sendable {
  @usableFromInline
  let readingCount = Atomic<UInt64>(0)
  private let registrar = Mutex<ObservationRegistrar?>(nil)

  @usableFromInline
  init() {}

  /// The number of observed reads of properties.
  @inlinable
  var readings: UInt64 { readingCount.load(ordering: .relaxed) }

  /// Whether it has ever had an observer. No reader is notified before that.
  @inlinable
  var isObserved: Bool { readings > 0 }

  /// The target of the key paths. It is never read: key paths are only compared.
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

  /// Notifies the readers of the property.
  @usableFromInline
  func notify(_ property: StaticString) {
    if ObservationDelivery.postpone(self, property) { return }
    notifyImmediately(property)
  }

  func notifyImmediately(_ property: StaticString) {
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

/// Keeps notifications of observers until this thread has left its reducers.
///
/// An observer may call any code, so it must not run while this thread holds the lock of a store.
@usableFromInline
enum ObservationDelivery {
  /// Whether this thread is inside a reducer.
  static var isCollecting: Bool {
    ThreadRecord.current.contents.pointee.depth > 0
  }

  /// Keeps a change; `false` when its observers may be notified immediately.
  static func postpone(_ subject: ObservationSubject, _ property: StaticString) -> Bool {
    let contents = ThreadRecord.current.contents
    guard contents.pointee.depth > 0 else { return false }
    let isKnown = contents.pointee.changes.contains {
      $0.subject === subject && $0.property.utf8Start == property.utf8Start
    }
    if !isKnown { contents.pointee.changes.append((subject, property)) }
    contents.pointee.hasChanges = true
    return true
  }

  /// Notifies observers of the kept changes, on this thread, unless it is still inside another reducer.
  @usableFromInline
  @inline(never)
  static func deliver(on thread: ThreadRecord) {
    guard thread.contents.pointee.depth == 0 else { return }
    let changes = thread.contents.pointee.changes
    thread.contents.pointee.changes = []
    thread.contents.pointee.hasChanges = false
    for change in changes { change.subject.notifyImmediately(change.property) }
  }
}

/// The readers of the state of a store, which are notified when another state replaces it, or an old copy of the same
/// state.
///
/// The properties of a state announce their own changes; only the store sees that the whole state is assigned.
final class StateReaders<State: Sendable>: Sendable {
  private let subject: ObservationSubject
  let observer: StateObserver<State>

  /// `nil` for a state that is not observed.
  init?() {
    guard State.self is any ObservedByIdentity.Type else { return nil }
    let subject = ObservationSubject()
    let last = Mutex<ObservableStateID?>(nil)
    self.subject = subject
    observer = StateObserver { state, _ in
      let present = (state as? any ObservedByIdentity)?._$id
      let before = last.withLock { last in
        defer { last = present }
        return last
      }
      guard let before, let present, !before.isContinued(by: present) else { return nil }
      return { subject.notify("state") }
    }
  }

  /// Records that an observer reads the state.
  func add() {
    subject.addAccess("state")
  }
}
