import SharedState
import SharedStateTesting
import Testing

@Suite(.timeLimit(.minutes(2))) struct TestingSharedStateTests {
  private struct Feature: Equatable {
    @Shared var count: Int

    func incrementButtonTapped() {
      $count.withLock { $0 += 1 }
    }

    /// As an effect does it: the share is captured, and changed elsewhere.
    func incrementLaterButtonTapped() -> Task<Void, Never> {
      Task { [sharedCount = $count] in
        sharedCount.withLock { $0 += 1 }
      }
    }
  }

  @Test func aTestSaysHowTheStateChanges() {
    let feature = Feature(count: Shared(value: 0))
    let changes = SharedChangeTracker()
    changes.track { feature.incrementButtonTapped() }
    changes.assert {
      feature.$count.withLock { $0 = 1 }
    }
  }

  @Test func aWrongExpectationShowsTheDifference() {
    withKnownIssue {
      let feature = Feature(count: Shared(value: 0))
      let changes = SharedChangeTracker()
      changes.track { feature.incrementButtonTapped() }
      changes.assert {
        feature.$count.withLock { $0 = 2 }
      }
    } matching: { issue in
      issue.text == """
        State was not expected to change, but a change occurred: …

            − 2
            + 1

        (Expected: −, Actual: +)
        """
    }
  }

  @Test func aChangeByAnEffectThatNobodyAssertsFails() async {
    let declaration: UInt = #line + 2
    await withKnownIssue {
      let feature = Feature(count: Shared(value: 0))
      let changes = SharedChangeTracker()
      await changes.track { await feature.incrementLaterButtonTapped().value }
    } matching: { issue in
      issue.text == """
        Tracked changes to 'Shared<Int>@\(#fileID):\(declaration)' but failed to assert: …

          − 0
          + 1

        (Before: −, After: +)

        Call 'Shared<Int>.assert' to exhaustively test these changes, or call 'skipChanges' to ignore them.
        """
    }
  }

  @Test(.exhaustiveChanges) func aChangeByAnEffectIsAsserted() async {
    let feature = Feature(count: Shared(value: 0))
    await feature.incrementLaterButtonTapped().value
    feature.$count.assert {
      $0 = 1
    }
  }
}

extension Issue {
  /// What it says.
  fileprivate var text: String? { comments.first?.rawValue }
}
