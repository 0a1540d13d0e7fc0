/// How a replica repairs what is stored: the repair to make, and the facts that it waits for.
struct RepairState: Sendable {
  /// A write that repairs the server's state without a local change.
  struct Repair: Hashable, Sendable {
    enum Kind: Equatable, Sendable {
      /// The value was written or deleted without a revision: adopt it.
      case adopt
      /// The server has lost the verified version: restore it.
      case restore
      /// The server has lost the verified version, and another client has written since: merge both.
      case merge
      /// Only the meta of the stored version is left anywhere: write the verified version back with a higher revision.
      case rewrite
    }

    let kind: Kind
    /// The stored value that was found. The repair takes effect only if it is still stored.
    let stored: StoredValue
    /// The version whose document the server is asked for, to be the base of a merge.
    fileprivate(set) var asked: Version?
    /// The result of a merge.
    fileprivate(set) var merged: Fork.Merged?
  }

  /// A value that was found missing, until the server has reported whether it has evicted keys.
  struct Absence: Equatable, Sendable {
    let stored: StoredValue
    let isFirst: Bool
    /// How often the verified version had changed when the absence was found.
    let verifiedChanges: UInt64
  }

  /// A stored value that is judged again after a grace period, because another service may repair it.
  struct Wait: Hashable, Sendable {
    let grace: Grace
    let stored: StoredValue
    fileprivate(set) var isOver = false
  }

  private(set) var repair: Repair?
  private(set) var absence: Absence?
  private(set) var wait: Wait?
  /// Whether the server permits this service to make repairs. Found out by trying, on each connection and at
  /// anti-entropy.
  private(set) var isPermitted = true
  /// The revision made by this service's last adoption, and the read that reveals its content if the message does not.
  private(set) var adopted: (revision: Revision, read: UInt64) = (.none, 0)

  /// The server may permit repairs again.
  mutating func permit() {
    isPermitted = true
  }

  /// The server permits no repairs. Another service will make them.
  mutating func forbid() {
    isPermitted = false
  }

  /// Plans to repair a stored value.
  mutating func plan(_ kind: Repair.Kind, of stored: StoredValue) {
    repair = Repair(kind: kind, stored: stored)
  }

  /// Plans to make a repair again that the server has refused for now.
  mutating func plan(again refused: Repair) {
    (repair, absence) = (refused, nil)
  }

  /// There is nothing to repair, or no longer.
  mutating func drop() {
    repair = nil
  }

  /// Asks the server for the base of a merge.
  mutating func ask(for version: Version) {
    repair?.asked = version
  }

  /// The server has answered, if that was the question.
  mutating func answered(_ version: Version) {
    if repair?.asked == version { repair?.asked = nil }
  }

  /// Notes the result of merging two histories.
  mutating func merged(_ result: Fork.Merged) {
    repair?.merged = result
  }

  /// Waits for the server to report whether it has evicted keys.
  mutating func wait(for absence: Absence) {
    self.absence = absence
  }

  /// Removes and returns the value that was found missing.
  @discardableResult
  mutating func takeAbsence() -> Absence? { absence.take() }

  /// Waits for other services. An earlier wait for the same value continues.
  ///
  /// - Returns: Whether the wait begins now.
  mutating func wait(_ grace: Grace, for stored: StoredValue) -> Bool {
    guard wait?.grace != grace || wait?.stored != stored else { return false }
    wait = Wait(grace: grace, stored: stored)
    return true
  }

  /// The grace period is over.
  ///
  /// - Returns: Whether this wait was still under way.
  mutating func end(_ grace: Grace) -> Bool {
    guard wait?.grace == grace else { return false }
    wait?.isOver = true
    return true
  }

  /// Stops waiting for other services.
  mutating func stopWaiting() {
    wait = nil
  }

  /// Another service has restored the verified version.
  mutating func restoredElsewhere() {
    if repair?.kind == .restore { repair = nil }
    (absence, wait) = (nil, nil)
  }

  /// A newer version is stored.
  ///
  /// - Returns: Whether a value that was found missing was still being judged.
  mutating func overtaken() -> Bool {
    defer { (repair, absence, wait) = (nil, nil, nil) }
    return absence != nil || wait != nil
  }

  /// This service has adopted a stored value, whose content the read reveals.
  mutating func adopted(_ revision: Revision, read: UInt64) {
    adopted = (revision, read)
  }
}
