import Testing

@testable import SharedStateDependencies

@Suite(.timeLimit(.minutes(5))) struct MissingValueTests {
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
        @Dependency(WallClock.self) var clock
        #expect(clock == WallClock.testValue)
      }
    } matching: {
      "\($0)".contains("WallClock has no live value")
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
      @Dependency(WallClock.self) var clock
      #expect(clock == WallClock.testValue)
    }
  }

  @Test func valueThatWasOnlyChangedIsReportedWhenItIsUsed() {
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

  @Test func valueThatReplacedOthersCanBeChanged() {
    withDependencies {
      $0 = .test
      $0.settings.volume = 3
    } operation: {
      @Dependency(\.settings) var settings
      #expect(settings.volume == 3)
    }
  }

  @Test func operationWithinAnOverrideIsAUse() {
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

  @Test func onlyTheAsynchronousOperationIsAUse() async {
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
    } matching: {
      "\($0)".contains("SettingsKey has no test value")
    }
  }
}
