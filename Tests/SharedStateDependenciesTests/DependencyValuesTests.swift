import Foundation
import Testing

@testable import SharedStateDependencies

@Suite("DependencyValues", .timeLimit(.minutes(5)))
struct DependencyValuesTests {
  @Dependency(\.name) var name

  @Test("The context selects the default")
  func defaultPerContext() {
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

  @Test("The innermost override is in force")
  func innermostOverrideCounts() {
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

  @Test("withDependencies returns the result of its operation")
  func operationReturnsItsResult() async {
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

  @Test("An error in an override or operation is rethrown and ends the scope")
  func rethrownErrors() async {
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
  @Test("An asynchronous operation and its overrides stay on the actor of the caller")
  func callerActor() async {
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

  @Test("An override with nil replaces the default")
  func nilIsAValue() {
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

  @Test("A type can be the key of its own dependency")
  func typeAsKey() {
    @Dependency(WallClock.self) var clock
    #expect(clock.hour == 12)
    withDependencies {
      $0[WallClock.self].hour = 3
    } operation: {
      #expect(clock.hour == 3)
    }
  }

  @Test("Two reads of a default return the same object")
  func defaultIsKept() {
    #expect(DependencyValues.current.counter === DependencyValues.current.counter)
  }

  @Test("Concurrent tasks get the same default")
  func concurrentDefault() async {
    let values = DependencyValues.current.withOwnCache()
    let counters = await withTaskGroup(of: Counter.self) { group in
      for _ in 0..<100 {
        group.addTask { values.counter }
      }
      return await group.reduce(into: Set<ObjectIdentifier>()) { $0.insert(ObjectIdentifier($1)) }
    }
    #expect(counters.count == 1)
  }

  @Test("A default of the test context sees the overrides in force")
  func testDefaultSeesOverrides() {
    withDependencies {
      $0.name = "you"
    } operation: {
      @Dependency(\.greeting) var greeting
      #expect(greeting == "Hello, you")
    }
  }

  @Test("A live default ignores overrides and stays the same when their scope ends")
  func stableLiveDefault() {
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

  @Test("New values include no prepared, used or overridden ones")
  func newValuesAreFresh() {
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

  @Test("The values of each context ignore prepared ones, and can replace those in force")
  func separateContexts() {
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
