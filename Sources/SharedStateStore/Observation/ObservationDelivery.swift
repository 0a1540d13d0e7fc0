/// Keeps what observers have to hear until this thread is inside no reducer.
///
/// An observer may do everything, so it is not called by who holds the lock of a store.
@usableFromInline
enum ObservationDelivery {
  /// Whether this thread is inside a reducer.
  static var isCollecting: Bool {
    ThreadRecord.current.contents.pointee.depth > 0
  }

  /// Keeps a change; false when it may be told at once.
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

  /// Tells, on this thread, what has changed, unless it is inside another reducer still.
  @usableFromInline
  @inline(never)
  static func deliver(on thread: ThreadRecord) {
    guard thread.contents.pointee.depth == 0 else { return }
    let changes = thread.contents.pointee.changes
    thread.contents.pointee.changes = []
    thread.contents.pointee.hasChanges = false
    for change in changes { change.subject.tell(change.property) }
  }
}
