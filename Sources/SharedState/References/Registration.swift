import Foundation
import Synchronization

/// The place of one reference in the registry. It is released with its reference, and takes the entry with it.
final class Registration: Sendable {
  private let key: ReferenceRegistry.Key
  private let registry: ReferenceRegistry
  private let isStarted = Atomic(false)
  private let startingThread = currentThread()

  /// How long a second thread waits for the first one to load the value, before it goes on with the default.
  private static let patience: TimeInterval = 10

  /// One condition serves all references: two threads rarely want the same new key at the same moment.
  private static let started = NSCondition()

  init(key: ReferenceRegistry.Key, registry: ReferenceRegistry) {
    self.key = key
    self.registry = registry
  }

  deinit {
    registry.forget(key)
  }

  /// The key has been asked to load and to watch.
  func didStart() {
    Self.started.lock()
    isStarted.store(true, ordering: .releasing)
    Self.started.broadcast()
    Self.started.unlock()
  }

  /// Waits for ``didStart()``, unless the caller is the thread that is starting, and so in the middle of it.
  func waitUntilStarted() {
    guard !isStarted.load(ordering: .acquiring), startingThread != currentThread() else { return }
    let deadline = Date(timeIntervalSinceNow: Self.patience)
    Self.started.lock()
    while !isStarted.load(ordering: .acquiring), Self.started.wait(until: deadline) {}
    Self.started.unlock()
  }
}
