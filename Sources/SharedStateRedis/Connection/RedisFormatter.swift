/// Encodes commands, behind one another, into one buffer.
package final class RedisFormatter {
  private var output = ByteBuffer()
  private var command = RedisCommand()

  /// Makes an empty formatter.
  package init() {}

  /// The encoded commands that have not been sent; valid until something is added or removed.
  package var bytes: UnsafeRawBufferPointer { output.bytes }
  /// Whether everything was sent.
  package var isEmpty: Bool { output.isEmpty }
  /// How many bytes have not been sent.
  package var count: Int { output.count }

  /// Encodes the command whose arguments the closure adds.
  package func add(_ build: (inout RedisCommand) -> Void) {
    build(&command)
    command.encode(into: &output)
  }

  /// Forgets bytes that were sent.
  package func removeFirst(_ count: Int) {
    output.removeFirst(count)
  }
}
