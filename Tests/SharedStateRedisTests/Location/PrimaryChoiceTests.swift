import Testing

@testable import SharedStateRedis

/// What Sentinels say is written as `a4 b5`: the first one names server a with the epoch 4, and so on.
@Suite("The choice among the servers that Sentinels name", .timeLimit(.minutes(1)))
struct PrimaryChoiceTests {
  private let now = Instant.now

  @Test(
    "The newest epoch counts, then the number of Sentinels, then their order",
    arguments: [
      ("", ""), ("a0", "a"), ("a4 b5 b5", "b"), ("a4 a4 b5", "b"), ("b5 a4 a4", "b"), ("a0 b0 b0", "b"),
      ("b0 a0 b0", "b"), ("a3 b3", "a"), ("a4 a6 b5 b5", "a"),
    ]
  )
  func order(answers: String, chosen: String) {
    var choice = PrimaryChoice()
    #expect(choice.next(answers, now) == chosen)
  }

  @Test("A server that says that it is no primary is not chosen while there is another one")
  func denied() {
    var choice = PrimaryChoice()
    // The Sentinels of b were set up anew.
    #expect(choice.next("a17 b0 b0", now) == "a")
    choice.tried(server("a"), .notPrimary)
    #expect(choice.next("a17 b0 b0", now) == "b")
    // One that does not answer is still better than one that is no primary.
    choice.tried(server("b"), .timedOut(operation: "connecting"))
    #expect(choice.next("a17 b0 b0", now) == "b")
    #expect(choice.next("a17", now) == "a")
    choice.tried(server("a"), .notPrimary)
    #expect(choice.next("a17 a17 c0", now) == "c")
    choice.tried(server("c"), nil)
    #expect(choice.next("a17 a17 c0", now) == "a")
  }

  @Test("A server that cannot be reached gives way only to one that as many Sentinels name, until that has failed, too")
  func unreachable() {
    var choice = PrimaryChoice()
    let failure = RedisSharedStateError.unreachable(reason: "no route")
    #expect(choice.next("a4 b5 b5", now) == "b")
    choice.tried(server("b"), failure)
    #expect(choice.next("a4 b5 b5", now) == "b")
    choice.tried(server("b"), failure)
    #expect(choice.next("a4 a4 b5", now) == "a")
    choice.tried(server("a"), failure)
    #expect(choice.next("a4 a4 b5", now) == "b")
    choice.tried(server("b"), failure)
    #expect(choice.next("a4 a4 b5", now) == "a")
  }

  @Test("A former primary is not chosen for ten seconds after another one was announced, unless it is announced again")
  func replaced() {
    var choice = PrimaryChoice()
    #expect(choice.switched(to: server("a"), now: now) == false)
    #expect(choice.next("a4 a4 a4", now) == "a")
    #expect(choice.switched(to: server("a"), now: now) == false)
    #expect(choice.switched(to: server("b"), now: now) == true)
    #expect(choice.isReplaced(server("a"), now: now) && !choice.isReplaced(server("b"), now: now))
    #expect(choice.next("a4 a4", now) == "")
    #expect(!choice.isCertain("a4 a4", now))
    #expect(choice.next("a4 b5", now + .seconds(9)) == "b")
    #expect(choice.next("a4 a4", now + .seconds(10)) == "a")
    #expect(choice.next("b5", now) == "b")
    #expect(choice.switched(to: server("a"), now: now) == true)
    #expect(!choice.isReplaced(server("a"), now: now) && choice.isReplaced(server("b"), now: now))
  }

  @Test(
    "Of three Sentinels, the third need not be asked if two agree on the server and the epoch",
    arguments: [("a4", false), ("a4 a4", true), ("a4 a5", false), ("a4 b4", false), ("a4 b5", false), ("a0 a0", true)]
  )
  func certain(answers: String, isCertain: Bool) {
    var choice = PrimaryChoice()
    #expect(choice.isCertain(answers, now) == isCertain)
    choice.tried(server("a"), .notPrimary)
    #expect(!choice.isCertain(answers, now))
  }

  @Test(
    "A living primary may have a successor only if that is named with a newer epoch, or by most of the Sentinels",
    arguments: [
      ("b5", "b5 b5", ""), ("b5", "a4", ""), ("b5", "a5", ""), ("b5", "a4 a4", "a"), ("b5", "a4 a4 b5", ""),
      ("b5", "c6", "c"), ("b5", "b5 b5 c6", "c"), ("b5", "c6 d7", "dc"), ("b5", "a17 c0 c0", "ac"),
      ("b0", "a0", ""), ("b0", "a0 a0 b0", "a"), ("b0", "", ""),
    ]
  )
  func successors(chosen: String, answers: String, successors: String) {
    var choice = PrimaryChoice()
    #expect(choice.successors(answers, now) == "")
    _ = choice.next(chosen, now)
    #expect(choice.successors(answers, now) == successors)
  }
}

private func server(_ host: String) -> RedisEndpoint { .tcp(host: host, port: 1) }

private func host(of server: RedisEndpoint?) -> String { if case .tcp(let host, _) = server { host } else { "" } }

extension PrimaryChoice {
  private static func answers(_ text: String) -> [Answer] {
    text.split(separator: " ").enumerated().map { index, word in
      Answer(
        sentinel: server("sentinel\(index)"),
        primary: server("\(word.prefix(1))"),
        epoch: UInt64(word.dropFirst()) ?? 0
      )
    }
  }

  fileprivate mutating func next(_ answers: String, _ now: Instant) -> String {
    host(of: choose(from: Self.answers(answers), now: now)?.primary)
  }

  fileprivate func isCertain(_ answers: String, _ now: Instant) -> Bool {
    isCertain(Self.answers(answers), of: 3, now: now)
  }

  fileprivate func successors(_ answers: String, _ now: Instant) -> String {
    successors(in: Self.answers(answers), of: 3, now: now).map { host(of: $0) }.joined()
  }
}
