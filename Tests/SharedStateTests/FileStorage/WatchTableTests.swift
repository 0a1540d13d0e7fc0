import Testing

@testable import SharedState

@Suite("The watchers of watched directories", .timeLimit(.minutes(5)))
struct WatchTableTests {
  private func event(_ watch: Int32, _ name: Name?) -> InotifyEvent { InotifyEvent(watch: watch, mask: 8, name: name) }

  @Test("An event concerns the watchers of its name, and one of the directory itself all of that directory")
  func concerned() {
    var table = WatchTable()
    table.insert("a", in: 1, of: 10)
    table.insert("b", in: 1, of: 11)
    table.insert("b", in: 1, of: 12)
    table.insert(nil, in: 1, of: 13)
    table.insert("b", in: 2, of: 14)
    #expect(table.watchers(of: event(1, "a")) == [10])
    #expect(table.watchers(of: event(1, "b")) == [11, 12])
    #expect(table.watchers(of: event(1, "c")) == [])
    #expect(table.watchers(of: event(1, nil)) == [10, 11, 12, 13])
    #expect(table.watchers(of: event(2, nil)) == [14])
    #expect(table.watchers(of: event(3, "b")) == [])
  }

  @Test("A directory is unneeded when the last name in it that mattered to a watcher is removed, and no sooner")
  func removal() {
    var table = WatchTable()
    for name in ["a", "b"] as [Name] { table.insert(name, in: 1, of: 10) }
    table.insert("a", in: 1, of: 11)
    table.insert(nil, in: 2, of: 11)
    #expect(table.remove([1: ["a", "b"]], except: [1: ["b"]], of: 10) == [])
    #expect(table.watchers(of: event(1, "a")) == [11])
    #expect(table.watchers(of: event(1, "b")) == [10])
    #expect(table.remove([1: ["a"], 2: [nil]], of: 11) == [2])
    #expect(table.watchers(of: event(1, nil)) == [10])
    #expect(table.remove([1: ["b"]], of: 10) == [1])
    #expect(table.watchers(of: event(1, nil)) == [])
  }

  @Test("A directory that the system watches no longer is not removed again")
  func forgotten() {
    var table = WatchTable()
    table.insert("a", in: 1, of: 10)
    table.forget(1)
    #expect(table.watchers(of: event(1, "a")) == [])
    #expect(table.remove([1: ["a"]], of: 10) == [])
  }
}
