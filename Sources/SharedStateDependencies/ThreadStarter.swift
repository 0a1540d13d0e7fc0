import Foundation

/// Starts threads, and reports when the system refuses one.
///
/// A user and a container have a limit of threads. Foundation's `Thread` does not report when it is reached: its
/// closure then never runs.
package struct ThreadStarter: Sendable {
  /// The system has not started a thread.
  package struct Refusal: Error, Equatable {
    package let reason: String

    package init(reason: String) {
      self.reason = reason
    }
  }

  /// The closure and the settings that a new thread takes over from the one that starts it.
  private final class Task: Sendable {
    let name: String
    let body: @Sendable () -> Void

    init(name: String, body: @escaping @Sendable () -> Void) {
      (self.name, self.body) = (name, body)
    }
  }

  private let refuses: @Sendable (_ name: String) -> Bool

  package static let system = ThreadStarter { _ in false }

  /// - Parameter refuses: Whether to refuse a thread of this name without asking the system, for tests.
  package init(refuses: @escaping @Sendable (_ name: String) -> Bool) {
    self.refuses = refuses
  }

  /// Starts a thread, which ends with its closure.
  ///
  /// - Parameters:
  ///   - name: Shown by tools; the system keeps the first 15 bytes.
  ///   - stackSize: In bytes.
  package func start(
    _ name: String,
    stackSize: Int = 512 << 10,
    _ body: @escaping @Sendable () -> Void
  ) throws(Refusal) {
    guard !refuses(name) else { throw Refusal(reason: "refused by a test") }
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setdetachstate(&attributes, CInt(PTHREAD_CREATE_DETACHED))
    pthread_attr_setstacksize(&attributes, stackSize)
    let task = Unmanaged.passRetained(Task(name: name, body: body))
    var thread = pthread_t()
    let status = pthread_create(
      &thread,
      &attributes,
      { task in
        if let task { Self.perform(Unmanaged<Task>.fromOpaque(task).takeRetainedValue()) }
        return nil
      },
      task.toOpaque()
    )
    guard status == 0 else {
      task.release()
      throw Refusal(reason: String(cString: strerror(status)))
    }
  }

  private static func perform(_ task: Task) {
    Thread.current.name = task.name
    task.body()
  }
}
