import SharedState
import Testing

@Suite(.timeLimit(.minutes(2))) struct TestingTipsTests {
  private struct Feature1 {
    @Shared(.appStorage("count")) fileprivate var count = 0

    func buttonTapped() {
      $count.withLock { $0 += 1 }
    }
  }

  private struct Feature2 {
    @Shared(.appStorage("count")) fileprivate var count = 0
  }

  /// The second feature as a refactoring has left it.
  private struct UnsharedFeature2 {
    var count = 0
  }

  @Test func oneCountInTwoFeaturesStaysInSync() {
    let (feature1, feature2) = (Feature1(), Feature2())
    feature1.buttonTapped()
    #expect(feature1.count == 1)
    #expect(feature2.count == 1)
  }

  @Test func aFeatureThatLostItsShareIsOnlySeenByAskingIt() {
    let (feature1, feature2) = (Feature1(), UnsharedFeature2())
    feature1.buttonTapped()
    #expect(feature1.count == 1)
    #expect(feature2.count == 0)
  }

  @Test func theTestHoldsAShareOfItsOwnAndAssertsOnIt() {
    @Shared(.appStorage("count")) var count = 0
    let feature1 = Feature1()
    let changes = SharedChangeTracker()
    changes.track { feature1.buttonTapped() }
    changes.assert {
      $count.withLock { $0 = 1 }
    }
  }

  @Test func thatTestFailsWhenTheFeatureLostItsShare() {
    let failure = SharedChangeTracker(reportUnassertedChanges: false)
    withKnownIssue {
      @Shared(.appStorage("count")) var count = 0
      var feature2 = UnsharedFeature2()
      failure.track { feature2.count += 1 }
      failure.assert {
        $count.withLock { $0 = 1 }
      }
    }
  }
}
