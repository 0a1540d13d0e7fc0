import SharedState
import Testing

@Suite(.timeLimit(.minutes(2))) struct ExplicitSharedStateTests {
  private struct Parent {
    @Shared var count: Int
    var child: Child?

    mutating func presentButtonTapped() {
      child = Child(count: $count)
    }
  }

  private struct Child {
    @Shared var count: Int

    func incrementButtonTapped() {
      $count.withLock { $0 += 1 }
    }
  }

  @Test func aParentHandsItsCountToAChild() throws {
    var parent = Parent(count: Shared(value: 0))
    parent.presentButtonTapped()
    let child = try #require(parent.child)
    child.incrementButtonTapped()
    #expect(parent.count == 1)
    parent.$count.withLock { $0 = 42 }
    #expect(child.count == 42)
  }
}
