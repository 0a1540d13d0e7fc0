import Foundation
@testable import SharedStateDependencies
import SharedStateTesting
import Testing

@Suite("withDependencies(from:)", .timeLimit(.minutes(5)))
struct WithDependenciesFromTests {
  private class Parent {
    @Dependency(\.date) var date
  }

  private final class Heir: Parent {
    let name = "heir"
  }

  private final class Bare: Sendable {}

  private func makeHeir(_ seconds: Double) -> Heir {
    withDependencies {
      $0.date = DateGenerator { Date(timeIntervalSinceReferenceDate: seconds) }
    } operation: {
      Heir()
    }
  }

  @Test("An object passes its dependencies on, also those of its superclass")
  func passing() async {
    let heir = makeHeir(1)
    let child = withDependencies(from: heir) { Parent() }
    #expect(child.date.now.timeIntervalSinceReferenceDate == 1)
    let grandchild = await withDependencies(from: child) { () async in Parent() }
    #expect(grandchild.date.now.timeIntervalSinceReferenceDate == 1)
  }

  @Test("Dependencies in force come before those of the object, and overrides before both")
  func order() {
    let heir = makeHeir(1)
    let date = { (seconds: Double) in DateGenerator { Date(timeIntervalSinceReferenceDate: seconds) } }
    let (child, other) = withDependencies {
      $0.date = date(2)
    } operation: {
      let child = withDependencies(from: heir) { Parent() }
      let other = withDependencies(from: heir) {
        $0.date = date(3)
      } operation: {
        Parent()
      }
      return (child, other)
    }
    #expect(child.date.now.timeIntervalSinceReferenceDate == 2)
    #expect(other.date.now.timeIntervalSinceReferenceDate == 3)
  }

  @Test("An object without a dependency passes on those of the operation that has returned it")
  func made() async throws {
    func date(_ seconds: Double) -> DateGenerator {
      DateGenerator { Date(timeIntervalSinceReferenceDate: seconds) }
    }
    let bare = withDependencies {
      $0.date = date(1)
    } operation: {
      Bare()
    }
    let any: any AnyObject & Sendable = await withDependencies {
      $0.date = date(2)
    } operation: { () async in
      Bare()
    }
    #expect(withDependencies(from: bare) { Parent() }.date.now.timeIntervalSinceReferenceDate == 1)
    #expect(withDependencies(from: any) { Parent() }.date.now.timeIntervalSinceReferenceDate == 2)
    // What such an object has made passes them on, too.
    let child = withDependencies(from: bare) { Bare() }
    let grandchild = await withDependencies(from: child) { () async in Bare() }
    #expect(withDependencies(from: grandchild) { Parent() }.date.now.timeIntervalSinceReferenceDate == 1)
    // An own dependency comes first.
    let heir = withDependencies(from: makeHeir(3)) { Heir() }
    #expect(withDependencies(from: heir) { Parent() }.date.now.timeIntervalSinceReferenceDate == 3)
  }

  @Test("Objects that are gone do not accumulate, and values are no objects")
  func gone() {
    let kept = (1...10).map { _ in
      withDependencies { _ in
      } operation: {
        Bare()
      }
    }
    for _ in 1...10_000 {
      withDependencies { _ in
      } operation: {
        Bare()
      }
    }
    // Other tests return objects, too.
    #expect(MadeObjects.count < 5_000)
    for bare in kept { withDependencies(from: bare) {} }
    #expect(
      withDependencies { _ in
      } operation: {
        1 as Any
      } as? Int == 1
    )
  }

  @Test("An object without dependencies is an issue at the line of the call")
  func bare() {
    let line = #line + 2
    withKnownIssue {
      withDependencies(from: Bare()) {}
    } matching: { issue in
      issue.sourceLocation?.line == line && issue.comments.contains { $0.rawValue.contains("has no '@Dependency'") }
    }
  }
}
