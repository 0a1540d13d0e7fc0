import Logging
import Metrics

/// Tells those who watch over the services of what has happened to a value: in the log, and by a counter.
struct IncidentReport {
  private let incident: Replica.Incident
  private let name: String

  init(_ incident: Replica.Incident, name: String) {
    self.incident = incident
    self.name = name
  }

  func send(to logger: Logger) {
    switch incident {
    case .lostHistory(let confirmed, let stored):
      Counter(label: "shared_state_lost_history").increment()
      logger.warning(
        "Redis has lost history.",
        metadata: ["name": "\(name)", "confirmed": "\(confirmed)", "stored": "\(stored)"]
      )
    case .restored(let revision):
      Counter(label: "shared_state_restored").increment()
      logger.notice(
        "This service has given Redis back what it had lost.",
        metadata: ["name": "\(name)", "revision": "\(revision)"]
      )
    case .adopted(let revision):
      Counter(label: "shared_state_adopted").increment()
      logger.info(
        "An edit from outside was given a revision.",
        metadata: ["name": "\(name)", "revision": "\(revision)"]
      )
    case .missedMessage:
      Counter(label: "shared_state_missed_messages").increment()
      logger.debug("A message was lost on its way.", metadata: ["name": "\(name)"])
    }
  }
}
