import Logging
@testable import SharedStateRedis
import Testing

@Suite("The names of undelivered values in the log", .timeLimit(.minutes(5)))
struct UndeliveredNamesTests {
  @Test("The log has the names of ten values in order, and the number of further ones")
  func manyNames() {
    let names = (1...12).map { "value\($0)" }
    let metadata = LinkTelemetry.metadata(of: names.reversed())
    let first = ["1", "10", "11", "12", "2", "3", "4", "5", "6", "7"].map { "'value\($0)'" }.joined(separator: ", ")
    #expect(metadata == ["values": "12", "names": "\(first) and 2 more"])
    let ten = LinkTelemetry.metadata(of: Array(names.prefix(10)))
    #expect(ten["names"]?.description.contains("more") == false)
    #expect(ten["names"]?.description.contains("'value10'") == true)
  }

  @Test("A name that would break a line is escaped")
  func unprintableName() {
    let metadata = LinkTelemetry.metadata(of: ["a\nb"])
    #expect(metadata["names"]?.description.contains("\n") == false)
    #expect(metadata["values"] == "1")
  }
}
