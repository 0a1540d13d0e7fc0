import Foundation
import SharedStateDependencies
import SharedStateTesting
import Synchronization
import Testing

@Suite("Dependencies of effects", .timeLimit(.minutes(5)))
struct EffectDependenciesTests {
  private struct Failure: Error {}

  @Test("In a test, work that nobody waits for is done when the call returns")
  func fireAndForget() async {
    @Dependency(\.fireAndForget) var fireAndForget
    let count = Atomic(0)
    let (stream, continuation) = AsyncStream<Int>.makeStream()
    await fireAndForget {
      await Task.yield()
      count.add(1, ordering: .relaxed)
    }
    #expect(count.load(ordering: .relaxed) == 1)
    await withDependencies {
      $0.context = .live
    } operation: {
      await fireAndForget(priority: .high) { continuation.yield(2) }
    }
    #expect(await stream.first { _ in true } == 2)
  }

  @Test("In a test, an error of work that nobody waits for is an issue at the line of the call")
  func failedWork() async {
    @Dependency(\.fireAndForget) var fireAndForget
    let line = #line + 2
    await withKnownIssue {
      await fireAndForget { throw Failure() }
    } matching: {
      $0.sourceLocation?.line == line && $0.comments.contains { $0.rawValue.contains("has failed: Failure()") }
    }
  }

  @Test("In a test, a false condition is an issue at the line of the call")
  func assertions() {
    @Dependency(\.assert) var assert
    @Dependency(\.precondition) var precondition
    assert(true, "not said")
    precondition(true)
    let line = #line + 2
    withKnownIssue {
      assert(false, "one")
    } matching: {
      $0.sourceLocation?.line == line && $0.comments.contains { $0.rawValue.contains("Assertion failed: one") }
    }
    withKnownIssue {
      precondition(1 > 2)
    } matching: {
      $0.comments.contains { $0.rawValue.contains("Precondition failed.") }
    }
  }

  @Test("In a test, a failed assertion is an issue at the line of the call")
  func assertionFailures() {
    @Dependency(\.assertionFailure) var assertionFailure
    let line = #line + 2
    withKnownIssue {
      assertionFailure("one")
    } matching: {
      $0.sourceLocation?.line == line && $0.comments.contains { $0.rawValue.contains("Assertion failed: one") }
    }
    withKnownIssue {
      assertionFailure()
    } matching: {
      $0.comments.contains { $0.rawValue.contains("Assertion failed.") }
    }
  }

  @Test("Notifications of one test do not reach another, and those of a program are in the default center")
  func notificationCenter() {
    @Dependency(\.notificationCenter) var notificationCenter
    #expect(notificationCenter !== NotificationCenter.default)
    #expect(notificationCenter !== DependencyValues.test.notificationCenter)
    let posts = Atomic(0)
    let name = Notification.Name("EffectDependenciesTests")
    let observer = notificationCenter.addObserver(forName: name, object: nil, queue: nil) { _ in
      posts.add(1, ordering: .relaxed)
    }
    defer { notificationCenter.removeObserver(observer) }
    notificationCenter.post(name: name, object: nil)
    #expect(posts.load(ordering: .relaxed) == 1)
    #expect(DependencyValues.live.notificationCenter === NotificationCenter.default)
  }

  @Test("Outside of tests, a condition that is true does nothing")
  func live() {
    withDependencies {
      $0.context = .live
    } operation: {
      @Dependency(\.assert) var assert
      @Dependency(\.precondition) var precondition
      assert(true)
      precondition(true)
    }
  }

  @Test("The preferred locales are those of the user, and have to be given to a test")
  func preferredLocales() {
    @Dependency(\.preferredLocales) var preferredLocales
    withKnownIssue { _ = preferredLocales }
    withDependencies {
      $0.preferredLocales = [Locale(identifier: "de_AT"), Locale(identifier: "fr")]
    } operation: {
      #expect(preferredLocales.map(\.identifier) == ["de_AT", "fr"])
    }
    withDependencies {
      $0.context = .live
    } operation: {
      #expect(preferredLocales.map(\.identifier) == Locale.preferredLanguages.map { Locale(identifier: $0).identifier })
    }
  }
}
