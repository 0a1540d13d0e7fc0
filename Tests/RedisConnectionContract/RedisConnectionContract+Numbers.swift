@testable import SharedStateRedis

extension RedisConnectionContract {
  /// Texts in the place of a revision, and the revisions that Swift and the scripts have to read from them; `nil`:
  /// none.
  static let numbers: [(text: String, revision: Revision?)] = [
    ("1", Revision(1)),
    ("1763700000000001", Revision(1_763_700_000_000_001)),
    ("7881299347898367", Revision(Revision.largest.rawValue - 1)),
    ("7881299347898368", .largest),
    ("7881299347898369", nil),
    ("9007199254740991", nil),
    ("9007199254740992", nil),
    ("9007199254740993", nil),
    ("9999999999999999", nil),
    ("10000000000000000", nil),
    ("12345678901234567", nil),
    ("18446744073709551615", nil),
    ("18446744073709551616", nil),
    ("18446744073709551617", nil),
    ("", nil),
    ("0", nil),
    ("01", nil),
    ("07881299347898367", nil),
    ("0000000000000000000000001", nil),
    ("+1", nil),
    ("-1", nil),
    ("1.0", nil),
    ("1e3", nil),
    ("0x1", nil),
    (" 1", nil),
    ("\u{661}", nil),
  ]

  static let numberChecks = [
    RedisConnectionContract("the scripts and a reader find the same number in a meta") { scene in
      let client = try scene.connect()
      for (place, (text, revision)) in numbers.enumerated() {
        let names = scene.names("key\(place)")
        try client.commit(names, .text("1"))
        try scene.foreign("SET", names.meta, "\(text) 0 s 0 w")
        try expect(client.read(names)[0].meta?.revision, is: revision, "the revision '\(text)'")
        if let revision {
          // The scripts must not take the text for another revision.
          let other = Revision(revision.rawValue + 1)
          let reply = try client.reply(to: client.makeCommit(names, .text("2"), when: .revision(other)))
          guard case .conflict(let stored, _) = reply else {
            throw Violation("a commit upon another revision than '\(text)' is answered with \(reply)")
          }
          try expect(stored, is: client.read(names)[0], "what a commit upon another revision finds")
          let next = try client.commit(names, .text("2"), when: .revision(revision))
          try expect(next.parent, is: revision, "the parent after '\(text)'")
        } else {
          let next = try client.replaceUnversioned(names, "1", by: "2")
          try expect(next.parent, is: .none, "the parent after '\(text)'")
        }
      }
    },

    RedisConnectionContract("a commit after the largest revision has the server's time, and is announced") { scene in
      let client = try scene.connect()
      let names = scene.names()
      let subscriber = try scene.subscribe(to: names)
      let now = try client.commit(scene.names("clock"), .text("1")).revision
      try client.commit(names, .text("1"))
      _ = try subscriber.nextChange()
      try scene.foreign("SET", names.meta, "\(Revision.largest.rawValue - 1) 0 s 0 w")
      var parent = Revision(Revision.largest.rawValue - 1)
      for round in 0..<4 {
        let next = try client.commit(names, .text("\(round)"), when: .revision(parent))
        try expect(next.parent, is: parent, "the parent of commit \(round)")
        switch round {
        case 0: try expect(next.revision, is: .largest, "the last revision")
        case 1: try expect(next.revision > now && next.revision < .largestFloor, "\(next.revision) is not the time")
        default: try expect(next.revision > parent, "\(next.revision) is not above \(parent)")
        }
        try expect(client.read(names)[0].meta?.revision, is: next.revision, "what is stored after commit \(round)")
        try expect(subscriber.nextChange().revision, is: next.revision, "what is announced of commit \(round)")
        parent = next.revision
      }
    },

    RedisConnectionContract("a floor has no effect if no revision is larger, and hides no stored revision") { scene in
      let client = try scene.connect()
      let now = try client.commit(scene.names("clock"), .text("1")).revision
      let before = Revision(Revision.largest.rawValue - 1)
      let last = try client.commit(scene.names("a"), .text("1"), floor: before).revision
      try expect(last, is: .largest, "the revision above the last but one")
      for (name, floor) in [("b", Revision.largest), ("c", Revision(1 << 53)), ("d", Revision(.max))] {
        let names = scene.names(name)
        let first = try client.commit(names, .text("1"), floor: floor).revision
        try expect(first > now && first < .largestFloor, "\(first) is not the time")
        let future = Revision(5_000_000_000_000_000)
        try scene.foreign("SET", names.meta, "\(future) 0 s 0 w")
        let next = try client.commit(names, .text("2"), floor: floor).revision
        try expect(next, is: Revision(future.rawValue + 1), "the revision above its parent")
      }
    },
  ]
}
