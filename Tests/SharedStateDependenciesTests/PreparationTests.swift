import Testing

@testable import SharedStateDependencies

@Suite("Prepared dependencies", .timeLimit(.minutes(5)))
struct PreparationTests {
  @Dependency(\.name) var name

  @Test("A prepared value replaces the default, but not an override")
  func preparedValue() async {
    prepareDependencies { $0.name = "prepared" }
    #expect(name == "prepared")
    #expect(await Task { name }.value == "prepared")
    withDependencies {
      $0.name = "override"
    } operation: {
      #expect(name == "override")
    }
  }

  @Test("A value prepared by another test does not reach this one")
  func preparationElsewhere() {
    #expect(name == "test")
  }

  @Test("A default that reads a prepared dependency gets the prepared value")
  func dependentDefault() {
    prepareDependencies { $0.name = "prepared" }
    withDependencies {
      $0.context = .test
    } operation: {
      #expect(DependencyValues.current.greeting == "Hello, prepared")
    }
  }

  @Test("Preparing a dependency after its use reports an issue and leaves its value")
  func latePreparation() {
    #expect(name == "test")
    let line = #line + 2
    withKnownIssue {
      prepareDependencies { $0.name = "late" }
    } matching: {
      "\($0)".contains("NameKey was used or prepared before") && $0.sourceLocation?.line == line
    }
    #expect(name == "test")
  }

  @Test("Preparing a dependency twice reports an issue and keeps the first value")
  func secondPreparationIsReported() {
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

  @Test("One property of a default can be prepared")
  func preparedProperty() {
    prepareDependencies { $0.settings.volume = 5 }
    @Dependency(\.settings) var settings
    #expect(settings == Settings(volume: 5))
  }

  @Test("An override that only changes a property does not count as a use")
  func changeWithoutUse() {
    withDependencies {
      $0.settings.volume = 5
    } operation: {
    }
    prepareDependencies { $0.settings.volume = 6 }
    #expect(DependencyValues.current.settings.volume == 6)
  }

  @Test("A preparation that throws leaves the default in place")
  func errorPreparesNothing() {
    #expect(throws: TestError.self) {
      try prepareDependencies {
        $0.name = "prepared"
        throw TestError()
      }
    }
    #expect(name == "test")
  }

  @Test("A prepared context selects the defaults")
  func contextCanBePrepared() {
    prepareDependencies { $0.context = .preview }
    #expect(name == "preview")
    #expect(DependencyValues.current.context == .preview)
  }

  @Test("prepareDependencies returns the result of its closure")
  func resultIsReturned() {
    #expect(
      prepareDependencies {
        $0.name = "prepared"
        return 42
      } == 42
    )
  }

  @Test("A preparation in an overridden context applies to that context only")
  func overriddenContext() {
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

  @Test("A preparation that sets a context applies to it, not to the overridden one")
  func changedContext() {
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
