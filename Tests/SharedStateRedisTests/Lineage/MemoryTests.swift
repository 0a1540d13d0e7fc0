import Foundation
@testable import RedisConnectionContract
import Testing

@testable import SharedStateRedis

@Suite("The memory of a replica", .timeLimit(.minutes(5)))
struct MemoryTests {
  private func meta(_ revision: UInt64) -> Meta {
    let lineage = Lineage(era: Era(1), lines: [.init(id: LineID(1), revision: Revision(revision))])
    return Meta(revision: Revision(revision), parent: .none, kind: .set, writer: "me", lineage: lineage)
  }

  @Test("A replica remembers the last versions, and ever fewer of the older ones")
  func spacing() {
    var memory = Memory()
    var (bytes, entries) = (0, 0)
    for revision in 1...10_000 as ClosedRange<UInt64> {
      memory.remember(meta(revision), .document(Data(repeating: 0, count: Int(revision))))
      let growth = memory.takeGrowth() ?? Memory.Growth()
      (bytes, entries) = (bytes + growth.bytes, entries + growth.entries)
      #expect(memory.entries.count <= Memory.maximumEntries)
      guard revision > 16 else { continue }
      let revisions = memory.entries.map(\.version.revision.rawValue)
      #expect(revisions.first == 1)
      #expect(revisions.suffix(16) == Array(revision - 15...revision).suffix(16))
      // No version is more than twice as old as the next newer one.
      let isDense = zip(revisions, revisions.dropFirst()).allSatisfy { older, newer in
        newer - older <= revision - newer + 1
      }
      #expect(isDense)
    }
    #expect((memory.bytes, memory.entries.count) == (bytes, entries))
    #expect(memory.bytes == memory.entries.reduce(0) { $0 + $1.bytes })
    while !memory.entries.isEmpty { memory.forgetOldest() }
    #expect(memory.bytes == 0)
  }

  @Test("The versions at which the history has left a line are forgotten last, whatever their size")
  func left() throws {
    var memory = Memory()
    let parting = meta(50)
    memory.remember(meta(40), .document(Data("older".utf8)))
    memory.remember(parting, .document(Data(repeating: 0, count: 1 << 20)))
    for revision in 51...5_000 as ClosedRange<UInt64> {
      let lines = [
        Lineage.Line(id: LineID(2), revision: Revision(revision)), .init(id: LineID(1), revision: Revision(50)),
      ]
      var made = meta(revision)
      made.lineage = Lineage(era: Era(2), lines: lines)
      memory.remember(made, .document(Data("new".utf8)))
    }
    #expect(memory.document(of: parting.version) != nil)
    while memory.entries.count > 1 { memory.forgetOldest() }
    #expect(memory.entries.map(\.version) == [parting.version])
  }

  @Test("A document that is larger than the memory of a store displaces nothing")
  func huge() {
    var memory = Memory()
    memory.remember(meta(1), .document(Data("small".utf8)))
    memory.remember(meta(2), .document(Data(repeating: 0, count: Memories.maximumBytes)))
    #expect(memory.entries.map(\.version) == [meta(1).version])
  }

  @Test("All replicas of a store together stay within its memory limit")
  func all() throws {
    var link = LinkState.make()
    link.connect(at: .now)
    let document = Data(repeating: UInt8(ascii: "x"), count: 8_192)
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
