import Foundation
import Testing

@testable import SharedStateDependencies

@Suite(.timeLimit(.minutes(5))) struct DependencyValuesTests {
  @Dependency(\.name) var name

  @Test func defaultIsChosenByTheContext() {
    #expect(name == "test")
    withDependencies {
      $0.context = .live
    } operation: {
      #expect(name == "live")
    }
    withDependencies {
      $0.context = .preview
    } operation: {
      #expect(name == "preview")
    }
    #expect(DependencyValues.current.context == .test)
  }

  @Test func innermostOverrideCounts() {
    withDependencies {
      $0.name = "outer"
    } operation: {
      #expect(name == "outer")
      withDependencies {
        $0.name = "inner"
      } operation: {
        #expect(name == "inner")
      }
      withDependencies {
        $0.nickname = "other"
      } operation: {
        #expect(name == "outer")
      }
      #expect(name == "outer")
    }
    #expect(name == "test")
  }

  @Test func operationReturnsItsResult() async {
    #expect(
      withDependencies {
        $0.name = "a"
      } operation: {
        name.count
      } == 1
    )
    let count = await withDependencies {
      await Task.yield()
      $0.name = "ab"
    } operation: {
      await Task.yield()
      return name.count
    }
    #expect(count == 2)
  }

  @Test func errorsPassThroughAndEndTheScope() async {
    #expect(throws: TestError.self) {
      try withDependencies {
        $0.name = "a"
      } operation: {
        throw TestError()
      }
    }
    #expect(throws: TestError.self) {
      try withDependencies { _ in
        throw TestError()
      } operation: {
        Issue.record("not to be run")
      }
    }
    await #expect(throws: TestError.self) {
      try await withDependencies {
        $0.name = "a"
      } operation: { () async throws in
        throw TestError()
      }
    }
    #expect(name == "test")
  }

  @MainActor
  @Test func asynchronousOperationStaysOnItsActor() async {
    await withDependencies {
      MainActor.assertIsolated()
      await Task.yield()
      $0.name = "main"
    } operation: {
      await Task.yield()
      MainActor.assertIsolated()
      #expect(name == "main")
    }
  }

  @Test func nilIsAValue() {
    @Dependency(\.nickname) var nickname
    #expect(nickname == nil)
    withDependencies {
      $0.nickname = "nick"
    } operation: {
      #expect(nickname == "nick")
    }
    withDependencies {
      $0.context = .live
      $0.nickname = nil
    } operation: {
      #expect(nickname == nil)
    }
    withDependencies {
      $0.context = .live
    } operation: {
      #expect(nickname == "nick")
    }
  }

  @Test func aTypeCanBeItsOwnKey() {
    @Dependency(WallClock.self) var clock
    #expect(clock.hour == 12)
    withDependencies {
      $0[WallClock.self].hour = 3
    } operation: {
      #expect(clock.hour == 3)
    }
  }

  @Test func defaultIsKept() {
    #expect(DependencyValues.current.counter === DependencyValues.current.counter)
  }

  @Test func everyThreadGetsTheSameDefault() async {
    let values = DependencyValues.current.withOwnCache()
    let counters = await withTaskGroup(of: Counter.self) { group in
      for _ in 0..<100 {
        group.addTask { values.counter }
      }
      return await group.reduce(into: Set<ObjectIdentifier>()) { $0.insert(ObjectIdentifier($1)) }
    }
    #expect(counters.count == 1)
  }

  @Test func testDefaultSeesOverrides() {
    withDependencies {
      $0.name = "you"
    } operation: {
      @Dependency(\.greeting) var greeting
      #expect(greeting == "Hello, you")
    }
  }

  @Test func liveDefaultOutlivesAScopeAndSeesNoOverrides() {
    withDependencies {
      $0.context = .live
    } operation: {
      @Dependency(\.greeting) var greeting
      withDependencies {
        $0.name = "request"
      } operation: {
        #expect(greeting == "Hello, live")
      }
      #expect(greeting == "Hello, live")
    }
  }

  @Test func newValuesAreFresh() {
    prepareDependencies { $0.name = "prepared" }
    let used = DependencyValues.current.counter
    withDependencies {
      $0.nickname = "nick"
    } operation: {
      let values = DependencyValues()
      #expect(values.name == "test")
      #expect(values.nickname == nil)
      #expect(values.counter !== used)
      #expect(values.counter === values.counter)
      withDependencies {
        $0 = values
      } operation: {
        #expect(name == "test")
        #expect(DependencyValues.current.counter === values.counter)
      }
    }
  }

  @Test func everyContextHasFreshValues() {
    prepareDependencies { $0.name = "prepared" }
    #expect(DependencyValues.live.name == "live")
    #expect(DependencyValues.preview.name == "preview")
    #expect(DependencyValues.test.name == "test")
    #expect(DependencyValues.live.context == .live)
    withDependencies {
      $0.name = "override"
    } operation: {
      withDependencies {
        $0 = .live
        $0.nickname = "other"
      } operation: {
        @Dependency(\.nickname) var nickname
        #expect(name == "live")
        #expect(nickname == "other")
      }
      #expect(name == "override")
    }
  }
}
