import Testing

@testable import SharedStateDependencies

@Suite(.timeLimit(.minutes(2))) struct MissingValueTests {
  @Test func testThatUsesALiveDependencyFailsWhereItIsRead() {
    let line = #line + 1
    @Dependency(\.settings) var settings
    withKnownIssue {
      #expect(settings == Settings())
    } matching: { issue in
      "\(issue)".contains("SettingsKey has no test value") && issue.sourceLocation?.line == line
    }
  }

  @Test func issueIsReportedInAnOverriddenTestContext() {
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

  @Test func overrideReportsNothing() {
    withDependencies {
      $0.settings = Settings(volume: 2)
    } operation: {
      @Dependency(\.settings) var settings
      #expect(settings.volume == 2)
    }
  }

  @Test func overrideOfAPropertyReportsNothing() {
    withDependencies {
      $0.settings.volume = 3
    } operation: {
      @Dependency(\.settings) var settings
      #expect(settings == Settings(volume: 3))
    }
  }

  @Test func liveContextNeedsALiveValue() {
    withKnownIssue {
      withDependencies {
        $0.context = .live
      } operation: {
        @Dependency(Clock.self) var clock
        #expect(clock == Clock.testValue)
      }
    } matching: {
      "\($0)".contains("Clock has no live value")
    }
  }

  @Test func previewValueIsTheLiveOne() {
    withDependencies {
      $0.context = .preview
    } operation: {
      @Dependency(\.settings) var settings
      #expect(settings == SettingsKey.liveValue)
    }
  }

  @Test func previewValueOfATestKeyIsItsTestValue() {
    withDependencies {
      $0.context = .preview
    } operation: {
      @Dependency(Clock.self) var clock
      #expect(clock == Clock.testValue)
    }
  }
}
