import Foundation
import Logging
import SharedState
import Synchronization
import SharedStateRedisTesting
import Testing

/// Blocks every thread that passes through it until it is opened, and reports arrivals.
///
/// Also open it in a `defer`, so that a failing test leaves no thread blocked. A thread waits for `patience` at most.
final class Gate: Sendable {
  private let condition = NSCondition()
  private let state = Mutex((isOpen: false, arrivals: 0))

  /// The number of threads that have arrived.
  var arrivals: Int { state.withLock { $0.arrivals } }

  func pass() {
    let deadline = Date.now + patience / .seconds(1)
    condition.lock()
    state.withLock { $0.arrivals += 1 }
    while !state.withLock({ $0.isOpen }), condition.wait(until: deadline) {}
    condition.unlock()
    let isOpen = state.withLock { $0.isOpen }
    #expect(isOpen, "The gate was not opened in time.")
  }

  func open() {
    condition.lock()
    state.withLock { $0.isOpen = true }
    condition.broadcast()
    condition.unlock()
  }

  /// Waits until this many threads have arrived.
  func isReached(by count: Int = 1) async throws {
    try await eventually("\(count) to come to the gate") { self.arrivals >= count }
  }
}

/// A value whose coding and merging code a test can block.
struct Gated: Codable, Hashable, Sendable, ThreeWayMergeable {
  var number = 0
  /// The name under which its gates are registered. Code whose gate is not registered runs freely.
  var gates = ""

  private static let encoding = Mutex<[String: Gate]>([:])
  private static let decoding = Mutex<[String: Gate]>([:])
  private static let merging = Mutex<[String: Gate]>([:])

  private enum CodingKeys: String, CodingKey { case number, gates }

  init(number: Int = 0, gates: String) {
    (self.number, self.gates) = (number, gates)
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    number = try container.decode(Int.self, forKey: .number)
    gates = try container.decode(String.self, forKey: .gates)
    let gates = gates
    Self.decoding.withLock { $0[gates] }?.pass()
  }

  func encode(to encoder: any Encoder) throws {
    Self.encoding.withLock { $0[gates] }?.pass()
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(number, forKey: .number)
    try container.encode(gates, forKey: .gates)
  }

  /// Adds up the increments of both sides.
  static func merged(base: Gated?, mine: Gated, theirs: Gated) -> Gated {
    merging.withLock { $0[mine.gates] }?.pass()
    return Gated(number: mine.number + theirs.number - (base?.number ?? 0), gates: mine.gates)
  }

  static func closeEncoding(_ gates: String) -> Gate {
    let gate = Gate()
    encoding.withLock { $0[gates] = gate }
    return gate
  }

  static func closeDecoding(_ gates: String) -> Gate {
    let gate = Gate()
    decoding.withLock { $0[gates] = gate }
    return gate
  }

  static func closeMerging(_ gates: String) -> Gate {
    let gate = Gate()
    merging.withLock { $0[gates] = gate }
    return gate
  }

  static func forget(_ gates: String) {
    encoding.withLock { $0[gates] = nil }
    decoding.withLock { $0[gates] = nil }
    merging.withLock { $0[gates] = nil }
  }
}

extension Logger {
  /// A logger whose every line waits at a gate.
  static func waiting(at gate: Gate) -> Logger {
    calling { _ in gate.pass() }
  }

  /// A logger that calls a closure with every message.
  static func calling(_ action: @escaping @Sendable (String) -> Void) -> Logger {
    Logger(label: "calling") { _ in CallingLogHandler(action: action) }
  }
}

private struct CallingLogHandler: LogHandler {
  let action: @Sendable (String) -> Void
  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.debug

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) { action(event.message.description) }
}
