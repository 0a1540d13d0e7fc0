import Synchronization

/// Those who have read the state of a store, to be told when another one takes its place, or an old copy of the same.
///
/// The properties of a state tell of their own changes; nobody but the store sees that the whole has been assigned.
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

  /// Notes that an observer reads the state.
  func add() {
    subject.addAccess("state")
  }
}
