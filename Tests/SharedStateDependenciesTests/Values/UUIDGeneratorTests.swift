import Foundation
import SharedStateDependencies
import SharedStateTesting
import Testing

@Suite("UUIDGenerator", .timeLimit(.minutes(5)))
struct UUIDGeneratorTests {
  @Dependency(\.uuid) var uuid

  @Test(
    "An incrementing generator starts at zero in each test case",
    .dependency(\.uuid, .incrementing),
    arguments: 0..<2
  )
  func zeroPerCase(index: Int) {
    #expect(uuid().uuidString == "00000000-0000-0000-0000-000000000000")
    #expect(uuid().uuidString == "00000000-0000-0000-0000-000000000001")
    #expect(uuid() == UUID(2))
  }

  @Test("A constant generator always returns the same UUID", .dependency(\.uuid, .constant(UUID(7))))
  func constantUUID() {
    #expect([uuid(), uuid()] == [UUID(7), UUID(7)])
  }

  @Test("An incrementing generator returns each number once to concurrent tasks")
  func distinctNumbers() async {
    let uuid = UUIDGenerator.incrementing
    let made = await withTaskGroup { group in
      for _ in 0..<100 { group.addTask { uuid() } }
      return await group.reduce(into: Set<UUID>()) { $0.insert($1) }
    }
    #expect(made == Set((0..<100).map { UUID($0) }))
  }

  @Test(
    "A UUID made from a number ends with its hexadecimal digits",
    arguments: [
      (42, "00000000-0000-0000-0000-00000000002A"),
      (0x1234_5678_9ABC, "00000000-0000-0000-0000-123456789ABC"),
      (-1, "00000000-0000-0000-FFFF-FFFFFFFFFFFF"),
    ]
  )
  func hexadecimalDigits(number: Int, text: String) {
    #expect(UUID(number).uuidString == text)
  }

  @Test("A test that generates a UUID without an override fails")
  func missingOverride() {
    withKnownIssue {
      #expect(uuid() != uuid())
    } matching: {
      "\($0)".contains("UUIDGeneratorKey has no test value")
    }
  }
}
