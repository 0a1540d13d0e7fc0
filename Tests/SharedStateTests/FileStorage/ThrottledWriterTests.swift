import Dispatch
import SharedStateTesting
import Testing

@testable import SharedState

@Suite("Throttled writes", .timeLimit(.minutes(5)))
struct ThrottledWriterTests {
  @Test("A reader waits for the change before it, not for the end of all changes")
  func readerBetweenChanges() {
    let events = Recorder<String>()
    let writer = ThrottledWriter(interval: .seconds(3_600), queue: DispatchQueue(label: "writes")) {}
    @Sendable func change(_ number: Int) {
      writer.submit(isUrgent: false, continuation: SaveContinuation { _ in }) {
        events.append("change \(number)")
        // Somebody changes the value during each of these writes.
        if number < 3 { change(number + 1) }
      }
    }
    change(1)
    writer.afterWriting { events.append("read") }
    #expect(events.elements == ["change 1", "change 2", "read"])
    #expect(!writer.isIdle)
    writer.writeNow()
    #expect(writer.isIdle)
  }
}
