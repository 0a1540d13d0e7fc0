import Foundation
import SharedState
import SharedStateDependencies
import SharedStateTesting
import Testing

@Suite("The articles on testing", .timeLimit(.minutes(5)))
struct TestingArticleTests {
  @Test("The increment button increases the count by one")
  func increment() {
    let model = CounterModel()
    model.incrementButtonTapped()
    #expect(model.count == 1)
  }

  @Test("The increment button increases a count that the test has set")
  func incrementAtTheLimit() {
    @Shared(.appStorage("count")) var count = 99
    let model = CounterModel()
    model.incrementButtonTapped()
    #expect(count == 100)
  }

  @Test("The increment button changes only the count", .exhaustiveChanges)
  func countOnlyIncrement() {
    let model = CounterModel()
    model.incrementButtonTapped()
    model.$count.assert { $0 = 1 }
  }

  @Test("A tracker checks the changes in one part of a test")
  func trackedPart() {
    let model = CounterModel()
    let tracker = SharedChangeTracker()
    tracker.track { model.incrementButtonTapped() }
    tracker.assert {
      model.$count.withLock { $0 = 1 }
    }
    #expect(!tracker.hasChanges)
  }

  /// A total that follows the count.
  private struct TotalModel {
    @Shared(value: 0) var count
    @Shared(value: 0) var total

    func incrementButtonTapped() {
      $count.withLock { $0 += 1 }
      $total.withLock { $0 = count * 10 }
    }
  }

  @Test("An expectation reads the expected value of another share")
  func dependentExpectation() {
    let model = TotalModel()
    let tracker = SharedChangeTracker()
    tracker.track { model.incrementButtonTapped() }
    tracker.assert {
      model.$count.withLock { $0 = 1 }
      model.$total.withLock { $0 = model.count * 10 }
    }
    #expect(!tracker.hasChanges)
  }

  @Test("A test that requests the file system writes a real file")
  func realFile() async throws {
    let file = URL(filePath: NSTemporaryDirectory()).appending(component: "\(UUID().uuidString).json")
    defer { try? FileManager.default.removeItem(at: file) }
    try await withDependencies {
      $0.defaultFileStorage = .fileSystem
    } operation: {
      @Shared(.fileStorage(file)) var names: [String] = []
      $names.withLock { $0.append("Blob") }
      try await $names.save()
    }
    #expect(try JSONDecoder().decode([String].self, from: Data(contentsOf: file)) == ["Blob"])
  }

  @Test("A program prepared with in-memory storages writes no file")
  func preparedProgram() async throws {
    prepareDependencies {
      $0.defaultAppStorage = .inMemory
      $0.defaultFileStorage = .inMemory
    }
    @Shared(.fileStorage(.users)) var users: [User] = []
    $users.withLock { $0 = [User(id: 1, name: "Blob")] }
    try await $users.save()
    #expect(!FileManager.default.fileExists(atPath: URL.users.path))
  }

  @Test(
    "An added note has the date and UUID that the test supplies",
    .dependency(\.date.now, .distantPast),
    .dependency(\.uuid, .incrementing)
  )
  func addNote() {
    let notebook = Notebook()
    notebook.addButtonTapped()
    #expect(notebook.notes == [Note(id: UUID(0), date: .distantPast)])
  }

  @MainActor @Test("A reminder is shown after a minute, and no earlier")
  func delayedReminder() async throws {
    let clock = TestClock()
    let reminder = withDependencies {
      $0.continuousClock = clock
    } operation: {
      Reminder()
    }
    let task = Task { try await reminder.start() }
    await clock.advance(by: .seconds(59))
    #expect(!reminder.isShown)
    await clock.advance(by: .seconds(1))
    try await task.value
    #expect(reminder.isShown)
  }
}

@Suite("A damaged file in a test", .timeLimit(.minutes(5)))
struct DamagedFileArticleTests {
  @Test("A share of a damaged file has its default value", .dependency(\.reportsUnreadErrors, false))
  func damagedFileDefault() {
    @Shared(.fileStorage(.damaged)) var names: [String] = []
    #expect(names == [])
  }

  @Test("A share of a damaged file has a load error")
  func damagedFileError() async throws {
    @Shared(.fileStorage(.damaged)) var names: [String] = []
    #expect($names.loadError != nil)
  }

  /// Each test has files of its own.
  init() async throws {
    @Shared(.fileStorage(.damaged)) var text = ""
    $text.withLock { $0 = "no list" }
    try await $text.save()
  }
}

extension URL {
  fileprivate static let damaged = URL(filePath: "/damaged.json")
}
