@testable import SharedStateRedis

/// The adoption of an edit by a service, which has given the edit a revision.
struct SimulatedAdoption {
  let box: SimulatedBox
  let revision: Revision
  private var isReported = false

  init(box: SimulatedBox, revision: Revision) {
    self.box = box
    self.revision = revision
  }

  /// The server's reply has arrived.
  mutating func tell(_ box: SimulatedBox, _ revision: Revision) {
    if box === self.box, revision == self.revision { isReported = true }
  }

  /// Whether the service of this box knows that the stored version is the one that it has adopted.
  func isKnown(to box: SimulatedBox, stored revision: Revision) -> Bool {
    isReported && box === self.box && revision == self.revision
  }
}
