import Synchronization

/// A key that stores changes in a file or in user defaults, whose contents are numbered: each one is an edition. It is
/// not notified of its own changes, unless its box shows an older one.
///
/// The type of the value does not identify an author: two types of keys may keep values of one type in the same place.
final class KeyAuthor: Sendable {
  private struct State {
    var seen: UInt64 = 0
    /// How many values from elsewhere its box had shown when it showed that edition; 0 if that is not known.
    var shown: UInt64 = 0

    /// Whether the box has shown no value from elsewhere since it had shown so many; `nil`: it is not known.
    func isUpToDate(_ shown: UInt64?) -> Bool { shown.map { $0 >= self.shown } ?? true }
  }

  private let state = Mutex(State())

  /// The newest edition that its box has shown, or that it has stored or submitted itself; 0 if there is none.
  var seen: UInt64 { state.withLock(\.seen) }

  /// An edition is about to be shown, or has been.
  ///
  /// - Parameter shown: How many values from elsewhere the box has shown then.
  /// - Returns: Whether there is no newer one.
  @discardableResult
  func see(_ edition: UInt64, shown: UInt64 = 0) -> Bool {
    state.withLock { state in
      guard edition >= state.seen else { return false }
      state = State(seen: edition, shown: shown)
      return true
    }
  }

  /// Passes an edition on. The author has seen it once a box shows it, which it must not if there is a newer one.
  func pass(_ edition: UInt64, _ pass: () -> Void) {
    Receipt.passing(onShown: { self.see(edition, shown: $0) }, pass)
  }

  /// Submits a change, which makes a new edition, and replaces none that nobody has seen.
  ///
  /// - Parameters:
  ///   - newest: The newest edition so far.
  ///   - shown: How many values from elsewhere the box had shown when the value was taken; `nil`: it is not known.
  /// - Returns: Whether the value is based on the newest edition.
  func submit(after newest: UInt64, shown: UInt64?) -> Bool {
    state.withLock { state in
      guard state.seen == newest, state.isUpToDate(shown) else { return false }
      state.seen = newest + 1
      return true
    }
  }

  /// Submits a change that replaces whatever is stored.
  func replace(_ newest: UInt64) { state.withLock { $0.seen = newest + 1 } }

  /// The author has stored an edition, whatever was stored before.
  ///
  /// - Parameter shown: How many values from elsewhere the box had shown when the value was taken; `nil`: it is not known.
  /// - Returns: Whether its box shows that value, or a newer local one.
  func store(_ edition: UInt64, shown: UInt64?) -> Bool {
    state.withLock { state in
      guard state.isUpToDate(shown) else { return false }
      state.seen = edition
      return true
    }
  }
}
