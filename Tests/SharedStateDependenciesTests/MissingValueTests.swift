import SharedStateTesting
import Synchronization
import Testing

@testable import SharedStateDependencies

@Suite("Missing dependency values", .timeLimit(.minutes(5)))
struct MissingValueTests {
  @Test("A dependency without a test value is reported at the line of its declaration")
  func missingTestValue() {
    let line = #line + 1
    @Dependency(\.settings) var settings
    withKnownIssue {
      #expect(settings == Settings())
    } matching: { issue in
      "\(issue)".contains("SettingsKey has no test value") && issue.sourceLocation?.line == line
    }
  }

  @Test("A missing test value is reported in an overridden test context")
  func overriddenTestContext() {
    withKnownIssue {
      withDependencies {
        $0.context = .live
        $0.context = .test
      } operation: {
        @Dependency(SettingsKey.self) var settings
        _ = settings
      }
    } matching: {
      "\($0)".contains("SettingsKey has no test value")
    }
  }

  @Test("Overriding a dependency without a test value reports nothing")
  func overrideReportsNothing() {
    withDependencies {
      $0.settings = Settings(volume: 2)
    } operation: {
      @Dependency(\.settings) var settings
      #expect(settings.volume == 2)
    }
  }

  @Test("Overriding one property of a dependency without a test value reports nothing")
  func overriddenProperty() {
    withDependencies {
      $0.settings.volume = 3
    } operation: {
      @Dependency(\.settings) var settings
      #expect(settings == Settings(volume: 3))
    }
  }

  @Test("The live context reports a missing live value and uses the test value")
  func missingLiveValue() {
    withKnownIssue {
      withDependencies {
        $0.context = .live
      } operation: {
        @Dependency(WallClock.self) var clock
        #expect(clock == WallClock.testValue)
      }
    } matching: {
      "\($0)".contains("WallClock has no live value")
    }
  }

  @Test("A key without a preview value uses its live value in previews")
  func livePreview() {
    withDependencies {
      $0.context = .preview
    } operation: {
      @Dependency(\.settings) var settings
      #expect(settings == SettingsKey.liveValue)
    }
  }

  @Test("A key with only a test value uses it in previews")
  func testValuePreview() {
    withDependencies {
      $0.context = .preview
    } operation: {
      @Dependency(WallClock.self) var clock
      #expect(clock == WallClock.testValue)
    }
  }

  @Test("A missing value is reported once, when it is used after an override of its property")
  func useAfterChange() {
    withDependencies {
      $0.settings.volume = 3
    } operation: {
    }
    let line = #line + 1
    @Dependency(\.settings) var settings
    withKnownIssue {
      #expect(settings == Settings())
    } matching: { issue in
      "\(issue)".contains("SettingsKey has no test value") && issue.sourceLocation?.line == line
    }
    #expect(settings == Settings())
  }

  @Test("A trait overrides a dependency whose test value reports itself, without an issue", .dependency(\.reporting, 2))
  func overriddenReport() {
    @Dependency(\.reporting) var reporting
    #expect(reporting == 2)
  }

  @Test("A test value that reports itself is silent while it is changed, and reports its first use")
  func reportOfAUse() {
    withDependencies {
      $0.reporting += 4
    } operation: {
      @Dependency(\.reporting) var reporting
      #expect(reporting == 5)
    }
    @Dependency(\.reporting) var reporting
    withKnownIssue {
      #expect(reporting == 1)
    } matching: {
      "\($0)".contains("ReportingKey was used")
    }
    #expect(reporting == 1)
  }

  @Test("A property of a missing value can be overridden after all values are replaced")
  func replacedValues() {
    withDependencies {
      $0 = .test
      $0.settings.volume = 3
    } operation: {
      @Dependency(\.settings) var settings
      #expect(settings.volume == 3)
    }
  }

  @Test("A missing value that is read in an operation within an override is reported")
  func nestedOperation() {
    withKnownIssue {
      withDependencies {
        $0.name = withDependencies {
          $0.nickname = "nick"
        } operation: {
          @Dependency(\.settings) var settings
          return "\(settings.volume)"
        }
      } operation: {
        #expect(DependencyValues.current.name == "1")
      }
    } matching: {
      "\($0)".contains("SettingsKey has no test value")
    }
  }

  @Test("A missing value that an asynchronous override and its operation read is reported")
  func asynchronousOverride() async {
    let issues = Mutex(0)
    await withKnownIssue {
      await withDependencies {
        $0.name = await withDependencies {
          await Task.yield()
          $0.settings.pitch = 4
        } operation: {
          await Task.yield()
          @Dependency(\.settings) var settings
          return "\(settings.pitch)"
        }
        @Dependency(\.settings) var settings
        _ = settings
      } operation: {
        await Task.yield()
        #expect(DependencyValues.current.name == "4")
        @Dependency(\.settings) var settings
        _ = settings
      }
    } matching: { issue in
      issues.withLock { $0 += 1 }
      return "\(issue)".contains("SettingsKey has no test value")
    }
    #expect(issues.withLock { $0 } == 1)
  }
}
