import Foundation
import Synchronization
import Testing

@testable import SharedStateRedis

@Suite("A waker", .timeLimit(.minutes(5)))
struct WakerTests {
  @Test("A waker wakes a waiting thread with or without a descriptor", arguments: [false, true])
  func wakes(withDescriptor: Bool) async throws {
    let waker = Waker()
    if withDescriptor { _ = try waker.descriptor }
    for _ in 0..<1_000 {
      let done = Countdown()
      Thread {
        waker.wait(until: .now + .seconds(300))
        done.finishOne(.success(()))
      }.start()
      waker.wake()
      try await done.wait(for: 1)
    }
  }

  @Test("A wake-up before the descriptor is made leaves it readable until it is cleared")
  func descriptorMadeLate() throws {
    let waker = Waker()
    waker.wake()
    #expect(try isReadable(waker.descriptor))
    waker.clear()
    #expect(try !isReadable(waker.descriptor))
    waker.wake()
    waker.wake()
    #expect(try isReadable(waker.descriptor))
    waker.clear()
    #expect(try !isReadable(waker.descriptor))
  }

  @Test("A wake-up that writes after it was cleared ends one wait, and not the next ones")
  func lateWrite() throws {
    let waker = Waker()
    let descriptor = try waker.descriptor
    #expect(withUnsafeBytes(of: UInt64(1)) { write(descriptor, $0.baseAddress, $0.count) } == 8)
    _ = try waker.wait(for: PerConnection { _ in nil }, until: .now + .seconds(10))
    #expect(try !isReadable(waker.descriptor))
  }

  @Test("A waiting thread sees every change that was made before a wake-up")
  func losesNothing() async throws {
    let waker = Waker()
    _ = try waker.descriptor
    let done = Countdown()
    let count = 20_000
    let made = Mutex(0)
    let seen = Mutex(0)
    Thread {
      // Each look sees all values that were made before the wake-up that caused it.
      while seen.withLock({ $0 }) < count {
        waker.wait(until: .now + .seconds(300))
        let present = made.withLock { $0 }
        seen.withLock { $0 = present }
      }
      done.finishOne(.success(()))
    }.start()
    Thread {
      for _ in 0..<count {
        made.withLock { $0 += 1 }
        waker.wake()
      }
    }.start()
    try await done.wait(for: 1)
  }

  private func isReadable(_ descriptor: CInt) -> Bool {
    var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&watched, 1, 0) == 1
  }
}
