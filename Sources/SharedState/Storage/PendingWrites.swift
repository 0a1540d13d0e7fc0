import Foundation

/// Knows which documents are not written yet, and writes them when the process ends normally.
final class PendingWrites: @unchecked Sendable {
  // `@unchecked Sendable` is right because `writers` is only touched with `condition` locked.
  private let condition = NSCondition()
  private var writers: [ObjectIdentifier: ThrottledWriter] = [:]

  /// How long the end of the process waits for writes, before it gives them up.
  private static let patience: TimeInterval = 10

  /// Those of this process.
  static let shared = PendingWrites()

  private init() {
    atexit { PendingWrites.shared.flush() }
  }

  func insert(_ writer: ThrottledWriter) {
    condition.lock()
    writers[ObjectIdentifier(writer)] = writer
    condition.unlock()
  }

  /// Forgets the writer, unless it has got something to write again.
  func remove(_ writer: ThrottledWriter, if isIdle: () -> Bool) {
    condition.lock()
    if isIdle() { writers[ObjectIdentifier(writer)] = nil }
    condition.broadcast()
    condition.unlock()
  }

  /// Writes everything, and waits for the writes that other threads are busy with.
  func flush() {
    let deadline = Date(timeIntervalSinceNow: Self.patience)
    condition.lock()
    while !writers.isEmpty {
      let present = Array(writers.values)
      condition.unlock()
      for writer in present { writer.hurry() }
      condition.lock()
      writers = writers.filter { !$0.value.isIdle }
      if !writers.isEmpty, !condition.wait(until: deadline) { break }
    }
    condition.unlock()
  }
}
