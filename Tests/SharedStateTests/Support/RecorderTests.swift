import Testing

@Suite("A recorder", .timeLimit(.minutes(5)))
struct RecorderTests {
  @Test("A cancelled wait for elements ends and is recorded as a failure")
  func cancellation() async {
    await withKnownIssue {
      let wait = Task { await Recorder<Int>().wait(count: 1) }
      wait.cancel()
      #expect(await wait.value == [])
    } matching: { issue in
      issue.comments.contains { $0.rawValue.contains("the wait for 1 elements failed") }
    }
  }
}
