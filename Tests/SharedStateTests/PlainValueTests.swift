import IssueReporting
import SharedState
import Testing

@Suite("Shares of plain values", .timeLimit(.minutes(5)))
struct PlainValueTests {
  @Test("A share is made from a plain value")
  func sharedPlainValue() {
    struct State {
      @Shared var count: Int

      init(count: Int) {
        _count = Shared(count)
      }
    }
    let state = State(count: 3)
    state.$count.withLock { $0 += 1 }
    #expect(state.count == 4)
    #expect(Shared<Int?>(nil).wrappedValue == nil)
    #expect(Shared<Int?>(1).wrappedValue == 1)
  }

  @Test("A failure names the file and line where a plain value is shared")
  func locationOfFailure() {
    let line: UInt = #line + 2
    let failures = FailureRecorder.failures {
      let count = Shared(0)
      SharedChangeTracker().track { count.withLock { $0 = 1 } }
    }
    #expect(failures.first?.message.contains("'Shared<Int>@\(#fileID):\(line)'") == true)
  }

  @Test("Passing a key as a plain value is reported")
  func misplacedKey() {
    let key = InMemoryKey<Int>.inMemory("count")
    withKnownIssue {
      _ = Shared(key)
    } matching: { issue in
      issue.description.contains("InMemoryKey<Int>") && issue.description.contains("default")
    }
  }

  @Test("A key of an optional needs no default")
  func keyOfOptional() {
    let share = Shared<Int?>(.inMemory("optional"))
    #expect(share.wrappedValue == nil)
    let reader = SharedReader<Int?>(.inMemory("optional"))
    share.withLock { $0 = 1 }
    #expect(reader.wrappedValue == 1)
  }

  @Test("A key with a default makes shares and readers of one value")
  func keyWithDefault() {
    @Shared(.bakedIn) var share
    @SharedReader(.bakedIn) var reader
    @SharedReader(wrappedValue: 7, .bakedIn) var withAnotherDefault
    #expect(share == 42)
    $share.withLock { $0 += 1 }
    #expect(reader == 43)
    #expect(withAnotherDefault == 43)
  }
}

extension SharedReaderKey where Self == InMemoryKey<Int>.Default {
  fileprivate static var bakedIn: Self { Self[.inMemory("bakedIn"), default: 42] }
}
