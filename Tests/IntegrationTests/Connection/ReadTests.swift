import Foundation
@testable import SharedStateRedis
import SharedStateRedisTesting
import Testing

@Suite("Reads on a connection", .timeLimit(.minutes(5)))
struct ReadTests {
  @Test("A read distinguishes every kind of stored content", arguments: PrivateRedisServer.Address.allCases)
  func contentKinds(address: PrivateRedisServer.Address) throws {
    let server = try PrivateRedisServer(address)
    let connection = try ConnectionDriver(server)
    let names = ["ours", "foreign", "absent", "deleted", "list", "hash", "malformed"].map {
      KeyNames(namespace: "ns:", name: $0, database: 0)
    }
    let revision = try connection.committed(.sample(names[0], .text("1")))
    try server.command("SET", names[1].value, "2")
    let deletion = try connection.committed(.sample(names[3], .deleted))
    try server.command("RPUSH", names[4].value, "x")
    try server.command("HSET", names[5].value, "x", "y")
    try server.command("SET", names[6].value, "3")
    try server.command("SET", names[6].meta, "not a meta")

    let writer = "shop@host/1/nonce"
    #expect(
      try connection.read(names) == [
        StoredValue(
          meta: Meta(revision: revision, parent: .none, kind: .set, writer: writer),
          content: .document(Data("1".utf8))
        ),
        StoredValue(meta: nil, content: .document(Data("2".utf8))),
        StoredValue(meta: nil, content: .absent),
        StoredValue(meta: Meta(revision: deletion, parent: .none, kind: .deleted, writer: writer), content: .absent),
        StoredValue(meta: nil, content: .otherType("list")),
        StoredValue(meta: nil, content: .otherType("hash")),
        StoredValue(meta: nil, content: .document(Data("3".utf8))),
      ]
    )
  }

  @Test("Ten thousand reads in one batch are answered in order")
  func tenThousandReads() throws {
    let server = try PrivateRedisServer(.unixSocket)
    let connection = try ConnectionDriver(server)
    let padding = String(repeating: "x", count: 2_000)
    let names = (0..<50).map { KeyNames(namespace: "", name: "key\($0)", database: 0) }
    for (index, name) in names.enumerated() { try server.command("SET", name.value, "\(index)\(padding)") }
    let replies = try connection.replies(to: (0..<10_000).map { .read([names[$0 % 50], names[($0 + 1) % 50]]) })
    for (index, reply) in replies.enumerated() {
      guard case .values(let values) = reply else {
        Issue.record("\(reply)")
        return
      }
      let expected = [index % 50, (index + 1) % 50].map { StoredValue.Content.document(Data("\($0)\(padding)".utf8)) }
      guard values.map(\.content) == expected else {
        Issue.record("Reply \(index) belongs to another request.")
        return
      }
    }
  }

  @Test("Five thousand absent keys are read in one request")
  func manyAbsentKeys() throws {
    let server = try PrivateRedisServer()
    let connection = try ConnectionDriver(server)
    let names = (0..<5_000).map { KeyNames(namespace: "", name: "key\($0)", database: 0) }
    #expect(try connection.read(names).allSatisfy { $0 == StoredValue(meta: nil, content: .absent) })
  }
}
