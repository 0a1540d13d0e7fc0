import Testing

@testable import SharedStateDependencies

@Suite("DependencyContext", .timeLimit(.minutes(5)))
struct DependencyContextTests {
  @Test("The context is detected from the test run and the environment")
  func detectedContext() {
    let preview = ["XCODE_RUNNING_FOR_PREVIEWS": "1"]
    #expect(DependencyContext.detect(isTesting: false, environment: [:]) == .live)
    #expect(DependencyContext.detect(isTesting: false, environment: ["XCODE_RUNNING_FOR_PREVIEWS": "0"]) == .live)
    #expect(DependencyContext.detect(isTesting: false, environment: preview) == .preview)
    #expect(DependencyContext.detect(isTesting: true, environment: preview) == .test)
    #expect(DependencyContext.detected == .test)
  }
}
