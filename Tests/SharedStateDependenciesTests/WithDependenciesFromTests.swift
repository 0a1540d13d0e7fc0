import Foundation
import SharedStateDependencies
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

  private final class Bare {}

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
