import Synchronization

/// A share of any value, for code that looks for shares in a state.
package protocol ObservableShare {
  /// The same for all copies of a share.
  var shareIdentity: ObjectIdentifier { get }

  /// Reports each change from now on, until the result is released.
  ///
  /// - Parameter notify: Called with no lock held, on the thread that makes the change or on a user code thread.
  func observeChanges(_ notify: @escaping @Sendable () -> Void) -> any Sendable

  /// Lets a tracker see changes of the value, wherever they are made.
  func attach(_ tracker: SharedChangeTracker)

  /// Adds the present value to a snapshot.
  func add(to snapshot: inout ShareSnapshot)
}

extension Shared: ObservableShare {
  package var shareIdentity: ObjectIdentifier { ObjectIdentifier(projection) }

  package func observeChanges(_ notify: @escaping @Sendable () -> Void) -> any Sendable {
    projection.observeChanges(notify)
  }

  package func attach(_ tracker: SharedChangeTracker) {
    projection.place.box.attach(tracker)
  }

  package func add(to snapshot: inout ShareSnapshot) {
    snapshot.add(projection.place.box)
  }
}

extension SharedReader: ObservableShare {
  package var shareIdentity: ObjectIdentifier { ObjectIdentifier(projection) }

  package func observeChanges(_ notify: @escaping @Sendable () -> Void) -> any Sendable {
    projection.observeChanges(notify)
  }

  package func attach(_ tracker: SharedChangeTracker) {
    projection.place.box.attach(tracker)
  }

  package func add(to snapshot: inout ShareSnapshot) {
    snapshot.add(projection.place.box)
  }
}

extension Box {
  fileprivate func attach(_ tracker: SharedChangeTracker) {
    lock.side.lock()
    let isAttached = trackers.all.contains { $0 === tracker }
    if !isAttached { trackers.attach(tracker) }
    lock.side.unlock()
  }
}

extension Projection {
  fileprivate func observeChanges(_ notify: @escaping @Sendable () -> Void) -> any Sendable {
    let isStarted = IsStarted()
    let observation = ProjectionObservation(self) { _ in
      // The present value is delivered first, and is no change.
      if isStarted.value.load(ordering: .relaxed) { notify() }
    }
    observation.start()
    isStarted.value.store(true, ordering: .relaxed)
    return ShareObservation(observation)
  }
}

private final class IsStarted: Sendable {
  let value = Atomic(false)
}

/// Ends an observation when it is released.
private final class ShareObservation<Value>: Sendable {
  private let observation: ProjectionObservation<Value>

  init(_ observation: ProjectionObservation<Value>) {
    self.observation = observation
  }

  deinit { observation.cancel() }
}
