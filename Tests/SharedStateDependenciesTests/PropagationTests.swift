import Foundation
import Testing

@testable import SharedStateDependencies

@Suite(.timeLimit(.minutes(5))) struct PropagationTests {
  private final class Plain: Sendable {}
  private class Base { @Dependency(\.name) var name }
  private final class Derived: Base {}

  @Test func childHasTheDependenciesOfItsParent() async {
    let parent = withDependencies {
      $0.name = "parent"
    } operation: {
      Model()
    }
    #expect(withDependencies(from: parent) { Model() }.name == "parent")
    #expect(await withDependencies(from: parent) { () async in Model() }.name == "parent")
  }

  @Test func childHasOverridesOnTop() async {
    let parent = withDependencies {
      $0.name = "parent"
      $0.nickname = "nick"
    } operation: {
      Model()
    }
    let child = withDependencies(from: parent) {
      #expect($0.nickname == "nick")
      $0.name = "child"
    } operation: {
      Model()
    }
    #expect(child.name == "child")
    let grandchild = await withDependencies(from: child) {
      #expect($0.name == "child")
      $0.nickname = "other"
    } operation: {
      await Task.yield()
      return Model()
    }
    #expect(grandchild.name == "child")
  }

  @Test func objectWithoutWrappersRemembersItsScope() {
    let plain = withDependencies {
      $0.name = "scope"
    } operation: {
      Plain()
    }
    #expect(withDependencies(from: plain) { Model() }.name == "scope")
  }

  @Test func wrappersOfASuperclassCount() {
    // Not the result of the operation itself, so it is not registered.
    let objects = withDependencies {
      $0.name = "base"
    } operation: {
      [Derived()]
    }
    #expect(withDependencies(from: objects[0]) { Model() }.name == "base")
  }

  @Test func objectWithoutDependenciesIsReported() {
    withKnownIssue {
      #expect(withDependencies(from: Plain()) { Model() }.name == "test")
    } matching: {
      "\($0)".contains("Plain has no dependencies to propagate")
    }
  }

  @Test func forgottenObjectsDoNotAddUp() {
    let objects = DependencyObjects()
    let kept = (0..<40).map { _ in Plain() }
    for object in kept {
      objects.register(object, values: DependencyValues(), since: 0)
    }
    for _ in 0..<10_000 {
      objects.register(Plain(), values: DependencyValues(), since: 0)
    }
    objects.register("not an object", values: DependencyValues(), since: 0)
    #expect(objects.count <= 2 * (kept.count + 32))
    #expect(kept.allSatisfy { objects.values(of: $0) != nil })
  }

  @Test func escapedDependenciesReachDetachedTasksAndThreads() async {
    await withDependencies {
      $0.name = "escaped"
    } operation: {
      let counter = DependencyValues.current.counter
      let continuation = withEscapedDependencies { $0 }
      let detached = await Task.detached {
        await continuation.yield {
          await Task.yield()
          return DependencyValues.current
        }
      }.value
      #expect(detached.name == "escaped")
      #expect(detached.counter === counter)
      let onThread = await withCheckedContinuation { resumption in
        Thread.detachNewThread {
          resumption.resume(returning: continuation.yield { DependencyValues.current })
        }
      }
      #expect(onThread.name == "escaped")
      #expect(onThread.counter === counter)
    }
  }

  @Test func innermostScopeOfAnObjectIsRemembered() async {
    func make() -> (model: Model, plain: Plain) {
      (
        withDependencies {
          $0.name = "inner"
        } operation: {
          Model()
        },
        withDependencies {
          $0.name = "inner"
        } operation: {
          Plain()
        }
      )
    }
    let model = withDependencies {
      $0.name = "outer"
    } operation: {
      make().model
    }
    let plain = withDependencies {
      $0.name = "outer"
    } operation: {
      make().plain
    }
    let later = await withDependencies {
      await Task.yield()
      $0.name = "outer"
    } operation: {
      await Task.yield()
      return make().plain
    }
    #expect(withDependencies(from: model) { Model() }.name == "inner")
    #expect(withDependencies(from: plain) { Model() }.name == "inner")
    #expect(withDependencies(from: later) { Model() }.name == "inner")
  }

  @Test func childOfAChildKeepsTheInnerOverrides() {
    let parent = withDependencies {
      $0.name = "parent"
    } operation: {
      Model()
    }
    let child = withDependencies(from: parent) {
      withDependencies(from: parent) {
        $0.name = "child"
      } operation: {
        Model()
      }
    }
    let again = withDependencies {
      $0.name = "again"
    } operation: {
      child
    }
    #expect(child === again)
    #expect(withDependencies(from: child) { Model() }.name == "child")
  }

  @Test func objectWithoutWrappersRemembersTheLatestOfSeveralScopes() {
    let plain = Plain()
    for name in ["first", "second"] {
      let same = withDependencies {
        $0.name = name
      } operation: {
        plain
      }
      #expect(withDependencies(from: same) { Model() }.name == name)
    }
  }
}
