/// The trackers of changes to one box, wherever these are made. It does not keep them alive.
struct AttachedTrackers {
  private struct Entry {
    weak var tracker: SharedChangeTracker?
  }

  private var entries: [Entry] = []

  /// All trackers that are still alive.
  var all: [SharedChangeTracker] { entries.compactMap(\.tracker) }

  /// Adds a tracker that is not attached yet.
  mutating func attach(_ tracker: SharedChangeTracker) {
    entries.removeAll { $0.tracker == nil }
    entries.append(Entry(tracker: tracker))
  }
}

extension Box {
  /// Attaches the tracker of this task, if there is one, to a box that no other thread can see yet.
  final func attachCurrentTracker() {
    guard let tracker = ChangeTracking.currentTracker, tracker.isTracking else { return }
    trackers.attach(tracker)
  }

  /// The trackers of the next change: the tracker of this task, and the attached ones.
  ///
  /// An inner tracker replaces those around it. From now on the tracker of this task is attached too, so that it sees
  /// what detached tasks do to a box that this task has touched.
  final func trackersOfNextChange() -> [SharedChangeTracker] {
    let current = ChangeTracking.currentTracker
    // Taken first and held: the last owner of a tracker releases it, which reports changes and so must not happen under
    // a lock.
    var tracking: [SharedChangeTracker]
    lock.side.lock()
    tracking = trackers.all
    if let current, !tracking.contains(where: { $0 === current }) {
      trackers.attach(current)
      tracking.append(current)
    }
    lock.side.unlock()
    tracking = tracking.filter(\.isTracking)
    return tracking.filter { tracker in !tracking.contains { $0.isInside(tracker) } }
  }

  /// The record of the change that is about to be made; `nil` when all these trackers know of an earlier one. Call with
  /// the lock held.
  final func change(at location: CallSite?, untrackedBy trackers: [SharedChangeTracker]) -> (any TrackedChange)? {
    trackers.contains { !$0.hasChange(of: self) } ? makeChange(at: location) : nil
  }
}
