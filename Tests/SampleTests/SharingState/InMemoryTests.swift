import SharedState
import Testing

@Suite(.timeLimit(.minutes(2))) struct InMemoryTests {
  private struct Feature {
    @Shared(.inMemory("count")) var count = 0
  }

  private struct OtherFeature {
    @Shared(.inMemory("count")) var count = 0
  }

  @Test func everyFeatureSeesTheSameCount() {
    let (feature, other) = (Feature(), OtherFeature())
    feature.$count.withLock { $0 += 1 }
    #expect(other.count == 1)
    other.$count.withLock { $0 += 1 }
    #expect(feature.count == 2)
  }
}
