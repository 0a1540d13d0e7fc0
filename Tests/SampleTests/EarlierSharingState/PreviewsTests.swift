import SharedState
import Testing

@Suite(.timeLimit(.minutes(2))) struct PreviewsTests {
  @Test func settingAgainOverridesTheDefaultOfAnEntryPoint() {
    @Shared(.appStorage("isOn")) var entryPoint = false

    @Shared(.appStorage("isOn")) var isOn = true
    #expect(!isOn)
    $isOn.withLock { $0 = true }
    #expect(entryPoint)
  }
}
