/// Those who track the changes of one box, by whoever makes them. It does not keep them alive.
struct AttachedTrackers {
  private struct Entry {
    weak var tracker: SharedChangeTracker?
  }

  private var entries: [Entry] = []

  /// All that are still there.
  var all: [SharedChangeTracker] { entries.compactMap(\.tracker) }

  /// Adds a tracker that is not among them.
  mutating func attach(_ tracker: SharedChangeTracker) {
    entries.removeAll { $0.tracker == nil }
    entries.append(Entry(tracker: tracker))
  }
}

extension Box {
  /// Attaches the tracker of this task, if there is one, to a box that nobody else can see yet.
  final func attachCurrentTracker() {
    guard let tracker = ChangeTracking.currentTracker, tracker.isTracking else { return }
    trackers.attach(tracker)
  }

  /// Those who track the next change: the tracker of this task, and those who are attached to this box.
  ///
  /// An inner tracker takes the place of those around it. From now on the tracker of this task is attached too, so
  /// that it sees what detached tasks do to a box that this task has touched.
  final func trackersOfNextChange() -> [SharedChangeTracker] {
    let current = ChangeTracking.currentTracker
    // Taken first and held on to: whoever is the last to hold a tracker releases it, and that must not happen under a
    // lock, for it reports changes.
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

  /// What tells of the change that is about to be made; `nil` when all these trackers know of an earlier one. Call with
  /// the lock held.
  final func change(at location: ChangeLocation?, untrackedBy trackers: [SharedChangeTracker]) -> TrackedChange? {
    trackers.contains { !$0.hasChange(of: self) } ? makeChange(at: location) : nil
  }
}
