package import SharedStateRedis

/// Simulates a server that never stops sending, and accepts all bytes that are sent to it.
package final class EndlessTransport: Transport {
  private var beginning: ArraySlice<UInt8> = []

  package init() {}

  /// Sets the text that comes before the endless bytes.
  package func says(_ text: String) {
    beginning = Array(text.utf8)[...]
  }

  package func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    for index in buffer.indices { buffer[index] = beginning.popFirst() ?? UInt8(ascii: "+") }
    return buffer.count
  }

  package func write(_ bytes: UnsafeRawBufferPointer) -> Int { bytes.count }

  /// There is no socket, and nobody has to wait.
  package let descriptor: CInt = -1
  package let holdsInput = true

  package func wait(for wanted: Readiness, until deadline: Instant) -> Readiness { wanted }

  package func close() {}
}
