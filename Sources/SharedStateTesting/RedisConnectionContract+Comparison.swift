import Foundation
import SharedStateRedis

extension RedisConnectionContract {
  /// Does the same at random to two servers: commits, retries, conflicts, restores, and foreign edits of everything of
  /// one key.
  ///
  /// What the contract does not spell out must be the same on both, too. Revisions are made comparable by a floor in
  /// the far future, above every clock.
  /// - Parameters:
  ///   - first: A server with an empty namespace.
  ///   - second: Another server, with the same namespace and database, and as empty.
  ///   - seed: Decides what is done. The same seed does the same again.
  /// - Throws: ``Violation`` at the first difference, with the seed and the step.
  package static func compare(_ first: Server, _ second: Server, seed: UInt64, steps: Int = 300) throws {
    let sides = try [Side(first), Side(second)]
    defer { for side in sides { side.scene.close() } }
    var random = SplitMix64(state: seed)
    for step in 0..<steps {
      let action = Action.random(step: step, using: &random)
      let outcomes = try sides.map { try $0.perform(action) }
      try expect(
        outcomes[0] == outcomes[1],
        "seed \(seed), step \(step), \(action): one shows \(outcomes[0]), the other \(outcomes[1])"
      )
    }
  }
}

/// Something to be done to both servers.
private enum Action {
  case commit(Commit.Content, expectsStored: Bool?, floor: Revision, operation: SharedStateRedis.Operation)
  case restores([(other: Int?, content: StoredValue.Content, meta: Meta, isLarge: Bool)])
  case foreign([String])

  private static let metas = [
    "", "nonsense", "12 0 s 0 writer", "007 1 s 0 writer", "9007199254740993 0 s 0 writer", "5", "5 ",
    " 5 0 s 0 writer",
    "4000000000000009 0 d 0 a writer",
  ]
  private static let operations = [
    "", "aaaa", "aaaa ", "aaaa 1 2 3", "aaaa 1 2 3;", "aaaa 1 2;bbbb 1 5 4;", "x 1 1 1;aaaa 2 9 8;bbbb 3 7 6", ";;;;",
    "aaaa 01 2 3;", "aaaa 1  3;", "aaaa + 2 3;", String(repeating: ";", count: 40),
    String(repeating: "zzzz 1 2 3;", count: 33) + "tail",
    // With one more operation they are long enough to be counted, or just not.
    String(repeating: "zzzz 1 2 3;", count: 60), String(repeating: "zzzz 1 2 3;", count: 60) + "tail",
    String(repeating: ";", count: 592), String(repeating: ";", count: 593), String(repeating: ";", count: 594),
    String(repeating: ";", count: 595), String(repeating: ";", count: 596), String(repeating: ";", count: 597),
  ]
  /// Some that are part of one another, and enough to have the oldest forgotten.
  private static let writers = ["aaaa", "bbbb", "aa", "1"] + (100..<140).map { "writer-\($0)" }
  /// The places of a key's three names, which ``Side`` fills in.
  private static let places = ["value", "meta", "operations"]

  static func random(step: Int, using random: inout SplitMix64) -> Action {
    let place = random.pick(places)
    switch Int.random(in: 0..<18, using: &random) {
    case 0: return .foreign(["SET", "meta", random.pick(metas)])
    case 1: return .foreign(["SET", "operations", random.pick(operations)])
    case 2: return .foreign(["SET", "value", "foreign \(step)"])
    case 3: return .foreign(["LPUSH", place, "x"])
    case 4: return .foreign(["DEL", place])
    case 5: return .foreign(["PEXPIRE", place, random.pick(["1000000", "5000000", "0", "-5"])])
    case 6...9: return .restores((0..<Int.random(in: 1...4, using: &random)).map { _ in restore(step, using: &random) })
    default:
      let document = Data("\(step)".utf8)
      return .commit(
        random.pick([.deleted, .document(document, isLarge: true), .document(document, isLarge: false)]),
        expectsStored: random.pick([nil, nil, true, false]),
        floor: Revision(4_000_000_000_000_000 + UInt64(step) * 3),
        operation: Operation(writer: random.pick(writers), number: UInt64.random(in: 1...2, using: &random))
      )
    }
  }
}

extension Action {
  private static func restore(
    _ step: Int,
    using random: inout SplitMix64
  ) -> (other: Int?, content: StoredValue.Content, meta: Meta, isLarge: Bool) {
    let isDeleted = Int.random(in: 0..<4, using: &random) == 0
    let revision = 4_000_000_000_000_000 + UInt64(step) * 3 + UInt64.random(in: 0...12, using: &random)
    let meta = Meta(
      revision: Revision(revision),
      parent: Revision(revision - 1),
      kind: isDeleted ? .deleted : .set,
      expiry: isDeleted ? 0 : random.pick([0, 0, 0, 1_000, 4_000_000_000_000]),
      writer: "restore/host/1/n"
    )
    return (
      other: random.pick([nil, 0, 1, 2]),
      content: isDeleted ? .absent : .text("restored \(step)"),
      meta: meta,
      isLarge: Bool.random(using: &random) && !isDeleted
    )
  }
}

/// One of the servers, and everything about one key that can be seen from outside.
private final class Side {
  struct Outcome: Equatable {
    var answer: String
    var stored: [StoredValue]
    var messages: [Data]
    var raw: [String]
  }

  let scene: RedisConnectionContract.Scene
  private let writer: RedisConnectionContract.Client
  private let subscriber: RedisConnectionContract.Client
  private let names: KeyNames
  /// What is only restored, beside it.
  private let others: [KeyNames]

  init(_ server: RedisConnectionContract.Server) throws {
    scene = RedisConnectionContract.Scene(server)
    names = scene.names()
    others = [scene.names("a"), scene.names("b"), scene.names("c")]
    writer = try scene.connect()
    subscriber = try scene.subscribe(to: names, others[0], others[1], others[2])
  }

  func perform(_ action: Action) throws -> Outcome {
    let answer = try answer(to: action)
    try subscriber.ping()
    return Outcome(
      answer: answer,
      stored: try writer.read([names] + others),
      messages: subscriber.takeMessages(),
      raw: try [names.value, names.meta, names.operations].flatMap(look)
    )
  }

  private func answer(to action: Action) throws -> String {
    switch action {
    case .foreign(let arguments):
      let key = ["value": names.value, "meta": names.meta, "operations": names.operations][arguments[1]] ?? ""
      // LPUSH refuses a string, so that the list must be all there is.
      if arguments[0] == "LPUSH" { try scene.foreign(["DEL", key]) }
      return try scene.foreign([arguments[0], key] + arguments.dropFirst(2))
    case .restores(let restores):
      let commands = restores.map { restore in
        let names = restore.other.map { others[$0] } ?? names
        return RedisRequest.Command.restore(
          Restore(names: names, content: restore.content, meta: restore.meta, isLarge: restore.isLarge)
        )
      }
      return "\(try writer.request(commands))"
    case .commit(let content, let expectsStored, let floor, let operation):
      let stored = try writer.read(names)[0].meta?.revision ?? .none
      let condition = expectsStored.map { Commit.Condition.revision($0 ? stored : Revision(stored.rawValue + 7)) }
      let commit = Commit(
        names: names,
        content: content,
        condition: condition ?? .unconditional,
        floor: floor,
        operation: operation,
        writer: "comparison/host/1/\(operation.writer)"
      )
      return "\(try writer.request(.commit(commit))[0])"
    }
  }

  /// The type, the text, and roughly the time to live.
  private func look(at key: String) throws -> [String] {
    let type = try scene.foreign(["TYPE", key])
    var left = Int(try scene.foreign(["PTTL", key])) ?? 0
    // Of a moment that was given what is left may be rounded to another minute on the second server; the moment is not.
    if left > 1_000_000_000_000 { left += Int(Date().timeIntervalSince1970 * 1_000) }
    let text = type == "string" ? try scene.foreign(["GET", key]) : ""
    return [type, left < 0 ? "\(left)" : "\((left + 30_000) / 60_000) min", text]
  }
}

/// A random number generator that a seed repeats.
private struct SplitMix64: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  mutating func pick<Element>(_ elements: [Element]) -> Element {
    elements[Int.random(in: elements.indices, using: &self)]
  }
}
