import Testing

@testable import SharedStateRedis

@Suite("The slot of a namespace", .timeLimit(.minutes(5)))
struct ClusterSlotTests {
  @Test(
    "The slot of a namespace is the slot of its hash tag",
    // The first is the check value of the checksum's specification, the others are what CLUSTER KEYSLOT answers.
    arguments: [("{123456789}", 0x31C3), ("{foo}:", 12_182), ("a:{foo}:b:", 12_182), ("{shop}:", 3_808)]
  )
  func numbers(namespace: String, slot: UInt16) {
    #expect(ClusterSlot(namespace: namespace)?.number == slot)
  }

  @Test("A namespace without a hash tag has no slot", arguments: ["", "shop:", "{}", "{}{a}", "}{"])
  func none(namespace: String) {
    #expect(ClusterSlot(namespace: namespace) == nil)
  }
}
