import Foundation
@testable import SharedStateRedis

extension RedisConnectionContract {
  static let operationChecks = [
    RedisConnectionContract("a retry gets the first answer, changes nothing and announces nothing") { scene in
      let client = try scene.connect()
      let names = scene.names()
      let subscriber = try scene.subscribe(to: names)
      var revisions: [Revision] = []
      for content in [Commit.Content.text("1"), .large(Data("2".utf8)), .deleted] {
        let commit = client.makeCommit(names, content)
        let answer = try client.committed(commit)
        let stored = try client.read(names)
        let retry = try client.committed(commit)
        try expect(retry.revision, is: answer.revision, "the revision of the retry")
        try expect(retry.parent, is: answer.parent, "the parent of the retry")
        try expect(client.read(names), is: stored, "what is stored after the retry")
        revisions.append(answer.revision)
      }
      // If a retry had been announced, its message would come before that of this last commit.
      revisions.append(try client.commit(names, .text("4")).revision)
      try expect(revisions.map { _ in try subscriber.nextChange().revision }, is: revisions, "what was announced")
    },

    RedisConnectionContract("a retry of a conditional commit does not conflict with itself") { scene in
      let client = try scene.connect()
      let commit = client.makeCommit(scene.names(), .text("1"), when: .absent)
      let revision = try client.committed(commit).revision
      try expect(client.committed(commit).revision, is: revision, "the revision of the retry")
    },

    RedisConnectionContract("a retry gets its answer on another connection, and after commits of others") { scene in
      let (first, second, third) = (try scene.connect(), try scene.connect(), try scene.connect())
      let names = scene.names()
      let commit = first.makeCommit(names, .text("1"))
      let answer = try first.committed(commit)
      first.connection.close()
      try second.commit(names, .text("2"))
      try second.commit(names, .text("3"))
      let stored = try second.read(names)
      let retry = try third.committed(commit)
      try expect(retry.revision, is: answer.revision, "the revision of the retry")
      try expect(retry.parent, is: answer.parent, "the parent of the retry")
      try expect(second.read(names), is: stored, "what is stored after the retry")
    },

    RedisConnectionContract("the server remembers only the last operation of a writer for each key") { scene in
      let client = try scene.connect()
      let (names, others) = (scene.names("a"), scene.names("b"))
      let operation = client.nextOperation()
      let first = try client.commit(names, .text("1"), operation: operation).revision
      let other = try client.commit(others, .text("1"), operation: operation).revision
      try expect(other != first, "the operation on one key was taken for a retry on the other")
    },

    RedisConnectionContract("an operation that comes after a later one of its writer is too late, and changes nothing")
    {
      scene in
      let client = try scene.connect()
      let names = scene.names()
      let late = client.makeCommit(names, .text("1"))
      try client.committed(late)
      let second = client.makeCommit(names, .text("2"))
      let revision = try client.committed(second).revision
      for condition in [Commit.Condition.unconditional, .revision(revision), .replacing(revision)] {
        var again = late
        again.condition = condition
        guard case .conflict(let stored, hasForgotten: false) = try client.reply(to: again) else {
          throw Violation("what is too late does not conflict")
        }
        try expect(stored.meta?.revision, is: revision, "the revision that is there")
      }
      try expect(client.read(names).map(\.content), is: [.text("2")], "the value")
      try expect(client.committed(second).revision, is: revision, "the revision of a retry of the later one")
    },

    RedisConnectionContract("the server does not remember a conflict as an operation") { scene in
      let client = try scene.connect()
      let names = scene.names()
      try client.commit(names, .text("1"))
      var commit = client.makeCommit(names, .text("2"), when: .absent)
      guard case .conflict(let stored, _) = try client.reply(to: commit), let revision = stored.meta?.revision else {
        throw Violation("a create over a value does not conflict")
      }
      commit.condition = .revision(revision)
      try expect(client.committed(commit).parent, is: revision, "the parent")
      try expect(client.read(names).map(\.content), is: [.text("2")], "the value")
    },

    RedisConnectionContract("the server remembers the operations of the last 32 writers, for an hour") { scene in
      let client = try scene.connect()
      let names = scene.names()
      let count = CommitScript.rememberedOperations + 1
      let operations = (0..<count).map { _ in Operation(writer: UUID().uuidString, number: 1) }
      let answers = try operations.map { try client.commit(names, .text("1"), operation: $0) }
      try expect(
        scene.lifetime(of: names.operations, isAbout: CommitScript.operationLifetimeInSeconds),
        "the operations do not expire after an hour"
      )
      for (operation, answer) in zip(operations, answers).dropFirst() {
        let retry = try client.commit(names, .text("1"), operation: operation)
        try expect(retry.revision, is: answer.revision, "the revision of a retry")
      }
      let forgotten = try client.commit(names, .text("1"), operation: operations[0])
      try expect(forgotten.parent, is: answers.last?.revision ?? .none, "the parent of the oldest operation")
    },

    RedisConnectionContract("a conflict says whether its writer may be forgotten") { scene in
      let (client, other) = (try scene.connect(), try scene.connect())
      let names = scene.names()
      let first = try other.commit(names, .text("1")).revision
      var lost = client.makeCommit(names, .text("2"), when: .revision(first))
      let second = try client.committed(lost).revision
      _ = try scene.foreign("DEL", names.operations)
      guard case .conflict(_, hasForgotten: true) = try client.reply(to: lost) else {
        throw Violation("nothing is remembered, and a writer is not told so")
      }
      let operation = Operation(writer: "writer-a", number: 7)
      let third = try other.commit(names, .text("3"), operation: operation).revision
      try expect(
        scene.foreign("GET", names.operations),
        is: "writer-a 7 \(third) \(second);- 0 \(second) \(second);",
        "the operations, and since when they are all there"
      )
      guard case .conflict(_, hasForgotten: true) = try client.reply(to: lost) else {
        throw Violation("others have committed since, and a writer is not told that it may be forgotten")
      }
      lost.condition = .revision(second)
      guard case .conflict(_, hasForgotten: false) = try client.reply(to: lost) else {
        throw Violation("everything is remembered since, and a writer is told that it may be forgotten")
      }
    },

    RedisConnectionContract("a late older operation does not hide that its writer may be forgotten") { scene in
      let (client, other) = (try scene.connect(), try scene.connect())
      let names = scene.names()
      var late = client.makeCommit(names, .text("0"), when: .absent)
      late.basis = Data("2".utf8)
      let first = try other.commit(names, .text("1")).revision
      let lost = client.makeCommit(names, .text("2"), when: .revision(first))
      try client.committed(lost)
      _ = try scene.foreign("DEL", names.operations, names.meta)
      try client.committed(late)
      guard case .conflict(_, hasForgotten: true) = try client.reply(to: lost) else {
        throw Violation("what was applied is forgotten, and its writer is not told so")
      }
    },

    RedisConnectionContract(
      "a conflict without a stored revision says that a writer may be forgotten, unless it found none"
    ) {
      scene in
      let (client, other) = (try scene.connect(), try scene.connect())
      // The value may be lost together with the revision.
      for isGone in [false, true] {
        let names = scene.names()
        let first = try other.commit(names, .text("1")).revision
        var lost = client.makeCommit(names, .text("2"), when: .revision(first))
        try client.committed(lost)
        _ = try scene.foreign("DEL", names.operations, names.meta)
        if isGone { _ = try scene.foreign("DEL", names.value) }
        let operation = Operation(writer: "writer-a", number: 7)
        let adopted = try other.commit(
          names,
          isGone ? .adoptedDeletion : .adopted(inlineLimit: 100),
          operation: operation
        ).revision
        try expect(
          scene.foreign("GET", names.operations),
          is: "writer-a 7 \(adopted) 0;- 0 \(adopted) 0;",
          "the operations, and since when they are all there"
        )
        let newest = try other.commit(names, .text("3")).revision
        for (condition, isForgotten) in [
          (Commit.Condition.revision(first), true), (.revision(adopted), false), (.revision(.none), false),
        ] {
          lost.condition = condition
          guard case .conflict(let stored, isForgotten) = try client.reply(to: lost) else {
            throw Violation("a writer is told wrongly whether it may be forgotten, on top of \(condition)")
          }
          try expect(stored.meta?.revision, is: newest, "the revision that is there")
        }
      }
    },

    RedisConnectionContract("a conflict says of no remembered writer that it may be forgotten") { scene in
      let (client, names) = (try scene.connect(), scene.names())
      let first = try client.commit(names, .text("1")).revision
      for _ in 2..<CommitScript.rememberedOperations {
        _ = try client.commit(names, .text("1"), operation: Operation(writer: UUID().uuidString, number: 1))
      }
      let lost = client.makeCommit(names, .text("2"), when: .revision(first))
      guard case .conflict(_, hasForgotten: false) = try client.reply(to: lost) else {
        throw Violation("everything is remembered, and a writer is told that it may be forgotten")
      }
    },

    RedisConnectionContract("a conflict reserves the value for its writer if that asks, until it has committed") {
      scene in
      let (far, near) = (try scene.connect(), try scene.connect())
      let names = scene.names()
      let applied = near.makeCommit(names, .text("1"))
      let revision = try near.committed(applied).revision
      let commit = far.makeCommit(names, .text("2"), when: .absent, reservation: 1_000)
      let stored = try near.read(names)
      let contents: [Commit.Content] = [
        .text("3"), .large(Data("3".utf8)), .deleted, .adopted(inlineLimit: 100), .adoptedDeletion,
      ]
      for content in contents {
        for condition in [Commit.Condition.unconditional, .revision(revision), .absent] {
          guard case .conflict = try far.reply(to: commit) else { throw Violation("a create over a value succeeds") }
          let held = try near.reply(to: near.makeCommit(names, content, when: condition))
          guard case .held(1...1_000) = held else {
            throw Violation("another writer's commit is answered with \(held)")
          }
        }
      }
      try expect(near.read(names), is: stored, "what is stored meanwhile")
      try expect(near.committed(applied).revision, is: revision, "the revision of a retry meanwhile")
      let made = try far.committed(far.makeCommit(names, .text("2"), when: .revision(revision))).revision
      try near.commit(names, .text("3"), when: .revision(made))
    },

    RedisConnectionContract("a reservation ends with its time, which has a bound") { scene in
      let (far, near) = (try scene.connect(), try scene.connect())
      let names = scene.names()
      let revision = try near.commit(names, .text("1")).revision
      for time in [1, 86_400_000] as [UInt64] {
        let commit = far.makeCommit(names, .text("2"), when: .absent, reservation: time)
        guard case .conflict = try far.reply(to: commit) else { throw Violation("a create over a value succeeds") }
        let deadline = Instant.now + .seconds(10)
        let next = near.makeCommit(names, .text("3"), when: .replacing(revision))
        guard time > 1 else {
          while case .held = try near.reply(to: next), .now < deadline {}
          continue
        }
        guard case .held(...CommitScript.longestReservationInMilliseconds) = try near.reply(to: next) else {
          throw Violation("a reservation is longer than the longest")
        }
      }
      // The clock was set back since.
      let record = try scene.foreign("GET", names.operations)
      let ending = record.drop { $0 != " " }
      _ = try scene.foreign("SET", names.operations, "+4102444800000000\(ending)")
      try near.commit(names, .text("4"))
    },

    RedisConnectionContract("a restoration takes effect although the value is reserved") { scene in
      let (far, near) = (try scene.connect(), try scene.connect())
      let names = scene.names()
      try near.replies(to: [.sample(names, 5, "7")])
      try near.commit(names, .text("1"))
      let commit = far.makeCommit(names, .text("2"), when: .absent, reservation: 1_000)
      guard case .conflict = try far.reply(to: commit) else { throw Violation("a create over a value succeeds") }
      try scene.foreign("DEL", names.value, names.meta)
      try expect(near.replies(to: [.sample(names, 5, "7")]), is: [.sample(5)], "the answer")
    },

    RedisConnectionContract("a value that was never committed is not reserved") { scene in
      let (far, near) = (try scene.connect(), try scene.connect())
      let names = scene.names()
      let commit = far.makeCommit(names, .text("2"), when: .revision(Revision(5)), reservation: 1_000)
      guard case .conflict = try far.reply(to: commit) else { throw Violation("a change of nothing succeeds") }
      try near.commit(names, .text("1"), when: .absent)
    },

    RedisConnectionContract("a reservation is in front of the stored operations, and hides none") { scene in
      let client = try scene.connect()
      let names = scene.names()
      let first = try client.commit(names, .text("1"), operation: Operation(writer: "writer-a", number: 7)).revision
      let commit = client.makeCommit(
        names,
        .text("2"),
        when: .absent,
        operation: Operation(writer: "writer-a", number: 8),
        reservation: 1_000
      )
      _ = try client.reply(to: commit)
      let record = try scene.foreign("GET", names.operations).split(separator: ";", omittingEmptySubsequences: false)
      let operations = record.dropFirst().joined(separator: ";")
      try expect(operations, is: "writer-a 7 \(first) 0;- 0 \(first) 0;", "the operations")
      let reservation = record[0].split(separator: " ")
      try expect(reservation.count, is: 2, "the parts of the reservation")
      try expect(reservation[1], is: "writer-a", "the holder")
      guard reservation[0].first == "+", UInt64(reservation[0].dropFirst()) ?? 0 > first.rawValue else {
        throw Violation("the reservation has no end: \(reservation)")
      }
      try expect(
        scene.lifetime(of: names.operations, isAbout: CommitScript.operationLifetimeInSeconds),
        "the operations do not expire after an hour"
      )
    },

    RedisConnectionContract("a reservation among the operations, where an older release leaves it, is none") { scene in
      let client = try scene.connect()
      let names = scene.names()
      let operation = Operation(writer: "writer-a", number: 7)
      let first = try client.commit(names, .text("1"), operation: operation).revision
      let commit = client.makeCommit(
        names,
        .text("2"),
        when: .absent,
        operation: Operation(writer: "writer-b", number: 1),
        reservation: 1_000
      )
      _ = try client.reply(to: commit)
      // An older release does not know what the record begins with, and puts its own operation in front.
      let record = try scene.foreign("GET", names.operations)
      try expect(record.first, is: "+", "the mark of the reservation")
      _ = try scene.foreign("SET", names.operations, "older 1 \(first) 0;\(record)")
      let next = try client.commit(names, .text("3"), operation: Operation(writer: "writer-c", number: 1)).revision
      try expect(client.commit(names, .text("1"), operation: operation).revision, is: first, "the revision of a retry")
      let older = Operation(writer: "older", number: 1)
      try expect(client.commit(names, .text("2"), operation: older).revision, is: first, "that of the older release")
      try client.commit(names, .text("4"), when: .revision(next), operation: Operation(writer: "writer-b", number: 2))
      for number in 1...CommitScript.rememberedOperations {
        try client.commit(names, .text("5"), operation: Operation(writer: "other-\(number)", number: 1))
      }
      let whole = try scene.foreign("GET", names.operations)
      try expect(whole.count { $0 == ";" }, is: CommitScript.rememberedOperations, "how many operations are remembered")
      try expect(whole.contains("+"), is: false, "that the reservation is remembered")
    },

    RedisConnectionContract("the stored operations are a string in the documented form") { scene in
      let client = try scene.connect()
      let names = scene.names()
      let old = try client.commit(names, .text("1"), operation: Operation(writer: "writer-a", number: 7))
      let beginning = "- 0 \(old.revision) 0;"
      let new = try client.commit(names, .text("2"), operation: Operation(writer: "writer-b", number: 8))
      try expect(
        scene.foreign("GET", names.operations),
        is: "writer-b 8 \(new.revision) \(old.revision);writer-a 7 \(old.revision) 0;\(beginning)",
        "the operations"
      )
      let newest = try client.commit(names, .text("3"), operation: Operation(writer: "writer-a", number: 8))
      try expect(
        scene.foreign("GET", names.operations),
        is: "writer-a 8 \(newest.revision) \(new.revision);writer-b 8 \(new.revision) \(old.revision);\(beginning)",
        "the operations, one for each writer"
      )
    },
  ]
}
