import Foundation
import Synchronization

/// The entry of one box in the registry, which ends when the box is released.
final class Registration: @unchecked Sendable {
  // `@unchecked Sendable` is right because everything is constant except the weak reference, which the runtime clears
  // and which may be read meanwhile.
  private(set) weak var box: Box?
  let key: BoxRegistry.Key
  private let registry: BoxRegistry
  private let isUsable = Atomic(false)
  private let isStarted = Atomic(false)
  /// The threads that are in the middle of starting the box, or of catching up: the key may ask for the box there.
  private let threads = Mutex([currentThread()])

  /// The longest wait for code of the library that takes microseconds.
  private static let patience: TimeInterval = 10

  /// One condition serves all boxes: two threads rarely want the same new key at the same moment.
  private static let usable = NSCondition()

  init(of box: Box, key: BoxRegistry.Key, registry: BoxRegistry) {
    self.box = box
    self.key = key
    self.registry = registry
  }

  /// Removes the entry. Called when the box is released.
  func end() {
    registry.forget(self)
  }

  /// Called once the box can be read, changed and saved by any thread.
  func becomeUsable() {
    guard !isUsable.load(ordering: .relaxed) else { return }
    Self.usable.lock()
    isUsable.store(true, ordering: .releasing)
    Self.usable.broadcast()
    Self.usable.unlock()
  }

  /// Called once the key has been asked to load and to watch.
  func didStart() {
    isStarted.store(true, ordering: .releasing)
    threads.withLock { $0 = [] }
  }

  /// Waits for ``becomeUsable()``. Runs the closure if ``didStart()`` was not called yet, unless the calling thread is in
  /// the middle of starting the box or of such a closure.
  func whileStarting(_ catchUp: () -> Void) {
    guard !isStarted.load(ordering: .acquiring) else { return }
    let thread = currentThread()
    let isOther = threads.withLock { threads in
      guard !threads.contains(thread) else { return false }
      threads.append(thread)
      return true
    }
    guard isOther else { return }
    waitUntilUsable()
    catchUp()
    threads.withLock { $0.removeAll { $0 == thread } }
  }

  private func waitUntilUsable() {
    guard !isUsable.load(ordering: .acquiring) else { return }
    let deadline = Date(timeIntervalSinceNow: Self.patience)
    Self.usable.lock()
    while !isUsable.load(ordering: .acquiring), Self.usable.wait(until: deadline) {}
    Self.usable.unlock()
  }
}
