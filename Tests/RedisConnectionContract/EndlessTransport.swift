@testable import SharedStateRedis

/// Simulates a server that never stops sending, and accepts all bytes that are sent to it.
final class EndlessTransport: Transport {
  private var beginning: ArraySlice<UInt8> = []

  init() {}

  /// Sets the text that comes before the endless bytes.
  func says(_ text: String) {
    beginning = Array(text.utf8)[...]
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    for index in buffer.indices { buffer[index] = beginning.popFirst() ?? UInt8(ascii: "+") }
    return buffer.count
  }

  func write(_ bytes: UnsafeRawBufferPointer) -> Int { bytes.count }

  /// There is no socket, and nobody has to wait.
  let descriptor: CInt = -1
  let holdsInput = true

  func wait(for wanted: Readiness, until deadline: Instant) -> Readiness { wanted }

  func close() {}
}
