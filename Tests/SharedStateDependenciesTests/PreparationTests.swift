import Testing

@testable import SharedStateDependencies

@Suite(.timeLimit(.minutes(5))) struct PreparationTests {
  @Dependency(\.name) var name

  @Test func preparedValueReplacesTheDefault() async {
    prepareDependencies { $0.name = "prepared" }
    #expect(name == "prepared")
    #expect(await Task { name }.value == "prepared")
    withDependencies {
      $0.name = "override"
    } operation: {
      #expect(name == "override")
    }
  }

  @Test func preparedValueIsOfThisTestOnly() {
    #expect(name == "test")
  }

  @Test func preparedValueIsSeenByDefaults() {
    prepareDependencies { $0.name = "prepared" }
    withDependencies {
      $0.context = .test
    } operation: {
      #expect(DependencyValues.current.greeting == "Hello, prepared")
    }
  }

  @Test func usedDependencyKeepsItsValueAndIsReported() {
    #expect(name == "test")
    let line = #line + 2
    withKnownIssue {
      prepareDependencies { $0.name = "late" }
    } matching: {
      "\($0)".contains("NameKey was used or prepared before") && $0.sourceLocation?.line == line
    }
    #expect(name == "test")
  }

  @Test func secondPreparationIsReported() {
    prepareDependencies { $0.name = "first" }
    withKnownIssue {
      prepareDependencies {
        $0.name = "second"
        $0.nickname = "nick"
      }
    } matching: {
      "\($0)".contains("NameKey was used or prepared before")
    }
    #expect(name == "first")
    #expect(DependencyValues.current.nickname == "nick")
  }

  @Test func propertyOfADefaultCanBePrepared() {
    prepareDependencies { $0.settings.volume = 5 }
    @Dependency(\.settings) var settings
    #expect(settings == Settings(volume: 5))
  }

  @Test func valueThatAnOverrideOnlyChangesIsNotUsed() {
    withDependencies {
      $0.settings.volume = 5
    } operation: {
    }
    prepareDependencies { $0.settings.volume = 6 }
    #expect(DependencyValues.current.settings.volume == 6)
  }

  @Test func errorPreparesNothing() {
    #expect(throws: TestError.self) {
      try prepareDependencies {
        $0.name = "prepared"
        throw TestError()
      }
    }
    #expect(name == "test")
  }

  @Test func contextCanBePrepared() {
    prepareDependencies { $0.context = .preview }
    #expect(name == "preview")
    #expect(DependencyValues.current.context == .preview)
  }

  @Test func resultIsReturned() {
    #expect(
      prepareDependencies {
        $0.name = "prepared"
        return 42
      } == 42
    )
  }

  @Test func overriddenContextIsTheOneThatIsPrepared() {
    withDependencies {
      $0.context = .live
    } operation: {
      prepareDependencies {
        #expect($0.name == "live")
        $0.name = "prepared"
      }
      #expect(name == "prepared")
    }
    #expect(name == "test")
  }

  @Test func contextThatIsSetCountsMoreThanAnOverriddenOne() {
    withDependencies {
      $0.context = .live
    } operation: {
      prepareDependencies {
        $0.context = .preview
        $0.name = "prepared"
      }
      #expect(name == "live")
    }
    #expect(DependencyValues.current.context == .preview)
    #expect(name == "prepared")
  }
}
