import Logging
import SharedStateRedisTesting

/// Reports the one event that only a store's log mentions: a value goes back because a message was false.
struct ChaosLog: LogHandler {
  let service: Int
  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.trace

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    guard let name = event.metadata?["name"], event.message.description.contains("does not have"),
      let revision = event.metadata?["revision"].flatMap({ UInt64($0.description) })
    else { return }
    ChaosEvent.withdrew(History.Box(service: service, name: name.description), from: revision).tell()
  }
}
