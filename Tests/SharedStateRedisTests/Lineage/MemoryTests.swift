import Foundation
import RedisConnectionContract
import Testing

@testable import SharedStateRedis

@Suite("The memory of a replica", .timeLimit(.minutes(5)))
struct MemoryTests {
  private func meta(_ revision: UInt64) -> Meta {
    let lineage = Lineage(era: Era(1), lines: [.init(id: LineID(1), revision: Revision(revision))])
    return Meta(revision: Revision(revision), parent: .none, kind: .set, writer: "me", lineage: lineage)
  }

  @Test("A replica remembers the newest documents, but no large ones")
  func bounds() {
    var memory = Memory()
    var bytes = 0
    for revision in 1...40 as ClosedRange<UInt64> {
      memory.remember(meta(revision), .document(Data(repeating: 0, count: Int(revision))))
      bytes += memory.takeGrowth()?.bytes ?? 0
    }
    #expect(memory.entries.count == Memory.maximumEntries)
    #expect(memory.entries.map(\.version.revision.rawValue) == Array(25...40))
    #expect(memory.bytes == bytes)
    let large = Data(repeating: 0, count: Memory.maximumDocumentBytes + 1)
    memory.remember(meta(41), .document(large))
    #expect(memory.takeGrowth() == nil)
    while !memory.entries.isEmpty { memory.forgetOldest() }
    #expect(memory.bytes == 0)
  }

  @Test("All replicas of a store together stay within its memory limit")
  func all() throws {
    var link = LinkState.make()
    link.connect(at: .now)
    let document = Data(repeating: UInt8(ascii: "x"), count: Memory.maximumDocumentBytes)
    for number in 0..<300 {
      let names = KeyNames(namespace: "", name: "value \(number)", database: 0)
      let id = try link.join(names, name: names.value, valueType: "Value", policy: ReplicaPolicy(writer: "me"))
      for revision in 1...10 as ClosedRange<UInt64> {
        let message = ChangeMessage(
          revision: Revision(revision),
          parent: Revision(revision - 1),
          writer: "other",
          lineage: meta(revision).lineage,
          content: .document(document)
        )
        link.apply(link.members[id]?.replica.announced(message), to: id)
      }
    }
    let remembered = link.members.elements.reduce(0) { $0 + $1.replica.verified.memory.bytes }
    #expect(remembered == link.memories.bytes)
    #expect(remembered <= Memories.maximumBytes)
    for id in link.members.ids { link.leave(id) }
    #expect(link.memories.bytes == 0)
  }
}
