import SharedState
import SharedStateDependencies
import SharedStateTesting
import Testing

@Suite("An unread error", .timeLimit(.minutes(5)))
struct UnreadErrorTests {
  private struct Failure: Error {}

  private static func failing(
    load: Bool = false,
    save: Bool = false
  ) -> ScriptedBackend<Int> {
    ScriptedBackend(
      onLoad: { load ? $0.continuation.resume(throwing: Failure()) : $0.continuation.resumeReturningInitialValue() },
      onSave: { save ? $0.continuation.resume(throwing: Failure()) : $0.continuation.resume() }
    )
  }

  @Test("An unread load error is reported with its share and the remedy once the last share is gone")
  func load() {
    let line: UInt = #line + 2
    let failures = FailureRecorder.failures {
      let count = Shared(wrappedValue: 0, .scripted(Self.failing(load: true)))
      #expect(count.wrappedValue == 0)
    }
    #expect(failures.count == 1)
    let message = failures.first?.message ?? ""
    #expect(message.hasPrefix("'Shared<Int>(ScriptedKey<Int>("))
    #expect(message.contains("@\(#fileID):\(line)' could not be loaded, and its error was not read."))
    #expect(message.contains("Read its 'loadError', or await 'load()' and handle what that throws."))
    #expect(message.contains("'\\.reportsUnreadErrors' turns this off."))
    #expect(message.contains("Failure()"))
  }

  @Test("An unread save error is reported once after several changes")
  func save() {
    let failures = FailureRecorder.failures {
      let count = Shared(wrappedValue: 0, .scripted(Self.failing(save: true)))
      for _ in 1...3 { count.withLock { $0 += 1 } }
      #expect(count.wrappedValue == 3)
    }
    #expect(failures.count == 1)
    #expect(failures.first?.message.contains("could not be saved") == true)
    #expect(failures.first?.message.contains("Read its 'saveError', or await 'save()'") == true)
  }

  @Test("An error is not reported if its property was read before or after the error occurred")
  func read() {
    let failures = FailureRecorder.failures {
      let after = Shared(wrappedValue: 0, .scripted(Self.failing(load: true)))
      #expect(after.loadError is Failure)
      let before = SharedReader(wrappedValue: 0, .scripted(Self.failing(save: true)))
      #expect(before.loadError == nil)
      let backend = Self.failing(save: true)
      let saved = Shared(wrappedValue: 0, .scripted(backend))
      #expect(saved.saveError == nil)
      saved.withLock { $0 = 1 }
    }
    #expect(failures.map(\.message) == [])
  }

  @Test("An error that was thrown to a caller is not reported")
  func thrown() async {
    let failures = await FailureRecorder.failures {
      let loaded = Shared(wrappedValue: 0, .scripted(Self.failing(load: true)))
      await #expect(throws: Failure.self) { try await loaded.load() }
      let saved = Shared(wrappedValue: 0, .scripted(Self.failing(save: true)))
      saved.withLock { $0 = 1 }
      await #expect(throws: Failure.self) { try await saved.save() }
    }
    #expect(failures.map(\.message) == [])
  }

  @Test("An error that was cleared is not reported")
  func gone() {
    let failures = FailureRecorder.failures {
      let backend = Self.failing(load: true)
      let count = Shared(wrappedValue: 0, .scripted(backend))
      backend.yield(1)
      #expect(count.wrappedValue == 1)
    }
    #expect(failures.map(\.message) == [])
  }

  @Test("An unread error is not reported if the reports are turned off", .dependency(\.reportsUnreadErrors, false))
  func turnedOff() {
    let failures = FailureRecorder.failures {
      let count = Shared(wrappedValue: 0, .scripted(Self.failing(load: true)))
      #expect(count.wrappedValue == 0)
    }
    #expect(failures.map(\.message) == [])
  }
}
