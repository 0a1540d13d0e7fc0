import Foundation
import SharedStateDependencies
@testable import SharedStateRedis

extension RedisConnectionContract {
  /// Performs the same random actions on two servers: commits, retries, conflicts, restores, and foreign edits of all
  /// keys of one value.
  ///
  /// Behaviour that the contract does not specify must be the same on both as well. A floor in the far future, above
  /// every clock, makes the revisions comparable.
  /// - Parameters:
  ///   - first: A server with an empty namespace.
  ///   - second: Another server, with the same namespace and database, also empty.
  ///   - seed: Decides the actions. The same seed repeats the same actions.
  /// - Throws: ``Violation`` at the first difference, with the seed and the step.
  static func compare(_ first: Server, _ second: Server, seed: UInt64, steps: Int = 300) throws {
    let sides = try [Side(first), Side(second)]
    defer { for side in sides { side.scene.close() } }
    var random = SplitMix64(seed: seed)
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

/// The expiry of values that do not expire during the comparison, in milliseconds since 1970.
private let farMoment: UInt64 = 4_000_000_000_000

extension String {
  /// The text with expiries rounded. A server's clock advances within a script, so the time of an expiry is only exact
  /// to a few milliseconds.
  fileprivate var withRoundedMoments: String {
    // The two servers are used one after the other, so a moment that depends on the present may differ.
    replacing(#/\b\d{13}\b/#) { match in
      let isFar = UInt64(match.output).map { $0 + 10 >= farMoment && $0 <= farMoment + 10 } ?? false
      return isFar ? "\(farMoment)" : "a moment"
    }
  }
}

/// An action on both servers.
private enum Action {
  case commit(
    Commit.Content,
    expects: Expectation?,
    lineage: Lineage.Draft?,
    floor: Revision,
    operation: SharedStateRedis.Operation
  )
  case restores([(other: Int?, content: StoredValue.Content, meta: Meta, isLarge: Bool, expects: Expectation)])
  case foreign([String])

  /// An expectation of the stored version: whether its revision, its lineage and its document are right.
  struct Expectation {
    var isRevisionRight: Bool
    var isLineageRight: Bool
    /// `nil`: no document is expected.
    var isDocumentRight: Bool?

    static func random(using random: inout SplitMix64) -> Expectation {
      Expectation(
        isRevisionRight: random.pick([true, true, true, false]),
        isLineageRight: random.pick([true, true, true, false]),
        isDocumentRight: random.pick([nil, nil, true, false])
      )
    }

    func revision(_ stored: StoredValue) -> Revision {
      isRevisionRight ? stored.revision : Revision(stored.revision.rawValue + 7)
    }

    func lineage(_ stored: StoredValue) -> Lineage? {
      isLineageRight ? stored.meta?.lineage : Lineage(era: nil, lines: [.init(id: LineID(77), revision: Revision(7))])
    }

    func document(_ stored: StoredValue) -> Data? {
      isDocumentRight.map { $0 ? stored.document ?? Data() : Data("other".utf8) }
    }
  }

  private static let metas = [
    "", "nonsense", "12 0 s 0 writer", "007 1 s 0 writer", "9007199254740993 0 s 0 writer", "5", "5 ",
    "7881299347898368 0 s 0 writer", "7881299347898369 0 s 0 writer", "12345678901234567 0 s 0 writer",
    "12 0 s 0 writer |1 00000001 0000000000000001=12",
    " 5 0 s 0 writer",
    "4000000000000009 0 d 0 a writer",
  ]
  private static let operations = [
    "", "aaaa", "aaaa ", "aaaa 1 2 3", "aaaa 1 2 3;", "aaaa 1 2;bbbb 1 5 4;", "x 1 1 1;aaaa 2 9 8;bbbb 3 7 6", ";;;;",
    "aaaa 01 2 3;", "aaaa 1  3;", "aaaa + 2 3;", String(repeating: ";", count: 40),
    String(repeating: "zzzz 1 2 3;", count: 33) + "tail",
    // One more operation makes these just long enough for the entries to be counted, or just not.
    String(repeating: "zzzz 1 2 3;", count: 60), String(repeating: "zzzz 1 2 3;", count: 60) + "tail",
    String(repeating: ";", count: 592), String(repeating: ";", count: 593), String(repeating: ";", count: 594),
    String(repeating: ";", count: 595), String(repeating: ";", count: 596), String(repeating: ";", count: 597),
  ]
  /// Some writers whose names contain one another, and enough writers for the oldest to be forgotten.
  private static let writers = ["aaaa", "bbbb", "aa", "1"] + (100..<140).map { "writer-\($0)" }
  private static let secrets = ["", "short", String(repeating: "7", count: Secret.length)]
  /// The places of a value's four keys, which ``Side`` fills in.
  static let places = ["value", "meta", "operations", "secret"]

  static func random(step: Int, using random: inout SplitMix64) -> Action {
    let place = random.pick(places)
    switch Int.random(in: 0..<19, using: &random) {
    case 18: return .foreign(["SET", "secret", random.pick(secrets)])
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
        random.pick([
          .deleted, .adoptedDeletion, .adopted(inlineLimit: 5), .document(document, isLarge: true),
          .document(document, isLarge: false),
        ]),
        expects: random.pick([nil, .random(using: &random)]),
        lineage: random.pick([nil, Lineage.Draft(continuing: nil, era: Era(3), opening: LineID(UInt64(step)))]),
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
  ) -> (other: Int?, content: StoredValue.Content, meta: Meta, isLarge: Bool, expects: Expectation) {
    let isDeleted = Int.random(in: 0..<4, using: &random) == 0
    let revision = 4_000_000_000_000_000 + UInt64(step) * 3 + UInt64.random(in: 0...12, using: &random)
    let meta = Meta(
      revision: Revision(revision),
      parent: Revision(revision - 1),
      kind: isDeleted ? .deleted : .set,
      expiry: isDeleted ? 0 : random.pick([0, 0, 0, 1_000, farMoment]),
      writer: "restore/host/1/n",
      lineage: random.pick([nil, Lineage(era: nil, lines: [.init(id: LineID(5), revision: Revision(revision))])])
    )
    return (
      other: random.pick([nil, 0, 1, 2]),
      content: isDeleted ? .absent : .text("restored \(step)"),
      meta: meta,
      isLarge: Bool.random(using: &random) && !isDeleted,
      expects: .random(using: &random)
    )
  }
}

/// One of the servers, and everything about one key that can be seen from outside.
private final class Side {
  struct Outcome: Equatable {
    var answer: String
    var stored: String
    var messages: [String]
    var raw: [String]
  }

  let scene: RedisConnectionContract.Scene
  private let writer: RedisConnectionContract.Client
  private let subscriber: RedisConnectionContract.Client
  private let names: KeyNames
  /// The names of other values, which are only restored.
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
      answer: answer.withRoundedMoments,
      stored: "\(try writer.read([names] + others))".withRoundedMoments,
      messages: subscriber.takeMessages().map(text),
      raw: try names.scriptKeys.flatMap(look)
    )
  }

  /// A message with the secret that proves it in place of the code, which depends on the exact moment of an expiry.
  private func text(of message: (channel: String, payload: Data)) -> String {
    let secrets: [(String, Secret)] = [("sample", .sample), ("other", .other)]
    let proof = secrets.first { ChangeMessage.isProven(message.payload, on: message.channel, by: [$0.1]) }
    let change = ChangeMessage(payload: message.payload)
    return "\(proof?.0 ?? "nothing") proves \(change.map { "\($0)" } ?? "nonsense")".withRoundedMoments
  }

  private func answer(to action: Action) throws -> String {
    switch action {
    case .foreign(let arguments):
      let keys = Dictionary(uniqueKeysWithValues: zip(Action.places, names.scriptKeys))
      let key = keys[arguments[1]] ?? ""
      // LPUSH refuses a string, so the key is deleted first.
      if arguments[0] == "LPUSH" { try scene.foreign(["DEL", key]) }
      return try scene.foreign([arguments[0], key] + arguments.dropFirst(2))
    case .restores(let restores):
      let commands = try restores.map { restore in
        let names = restore.other.map { others[$0] } ?? names
        let stored = try writer.read(names)[0]
        var expected = restore.expects.isRevisionRight ? stored.meta : nil
        if let lineage = restore.expects.lineage(stored) { expected?.lineage = lineage }
        return RedisRequest.Command.restore(
          Restore(
            names: names,
            content: restore.content,
            meta: restore.meta,
            isLarge: restore.isLarge,
            expected: expected,
            basis: restore.expects.document(stored),
            secret: .sample
          )
        )
      }
      return "\(try writer.request(commands))"
    case .commit(let content, let expects, let lineage, let floor, let operation):
      let stored = try writer.read(names)[0]
      let commit = Commit(
        names: names,
        content: content,
        condition: expects.map { .revision($0.revision(stored)) } ?? .unconditional,
        floor: floor,
        operation: operation,
        writer: "comparison/host/1/\(operation.writer)",
        seen: expects?.lineage(stored),
        lineage: lineage,
        basis: expects?.document(stored),
        secret: .sample
      )
      return "\(try writer.request(.commit(commit))[0])"
    }
  }

  /// The type, the text, and roughly the time to live.
  private func look(at key: String) throws -> [String] {
    let type = try scene.foreign(["TYPE", key])
    var left = Int(try scene.foreign(["PTTL", key])) ?? 0
    // A very long time to live comes from a fixed moment. The remaining time may be rounded to a different minute on
    // the second server, but the moment is not.
    if left > 1_000_000_000_000 { left += Int(Date().timeIntervalSince1970 * 1_000) }
    let text = type == "string" ? try scene.foreign(["GET", key]).withRoundedMoments : ""
    return [type, left < 0 ? "\(left)" : "\((left + 30_000) / 60_000) min", text]
  }
}

extension SplitMix64 {
  fileprivate mutating func pick<Element>(_ elements: [Element]) -> Element {
    elements[Int.random(in: elements.indices, using: &self)]
  }
}
