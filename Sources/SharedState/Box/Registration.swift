import Foundation
import Synchronization

/// The entry of one box in the registry, which the box ends when it is released.
final class Registration: @unchecked Sendable {
  // `@unchecked Sendable` is right because everything is constant except the weak reference, which the runtime clears
  // and which may be read meanwhile.
  private(set) weak var box: Box?
  let key: BoxRegistry.Key
  private let registry: BoxRegistry
  private let isStarted = Atomic(false)
  private let startingThread = currentThread()

  /// How long a second thread waits for the first one to load the value, before it goes on with the default.
  private static let patience: TimeInterval = 10

  /// One condition serves all boxes: two threads rarely want the same new key at the same moment.
  private static let started = NSCondition()

  init(of box: Box, key: BoxRegistry.Key, registry: BoxRegistry) {
    self.box = box
    self.key = key
    self.registry = registry
  }

  /// Removes the entry. Called when the box is gone.
  func end() {
    registry.forget(self)
  }

  /// Called once the key has been asked to load and to watch.
  func didStart() {
    Self.started.lock()
    isStarted.store(true, ordering: .releasing)
    Self.started.broadcast()
    Self.started.unlock()
  }

  /// Waits for ``didStart()``, unless the calling thread is the one that starts the box, and so is in the middle of it.
  func waitUntilStarted() {
    guard !isStarted.load(ordering: .acquiring), startingThread != currentThread() else { return }
    let deadline = Date(timeIntervalSinceNow: Self.patience)
    Self.started.lock()
    while !isStarted.load(ordering: .acquiring), Self.started.wait(until: deadline) {}
    Self.started.unlock()
  }
}
