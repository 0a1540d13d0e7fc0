import Foundation
import Observation
import SharedState
import SharedStateDependencies
import Testing

/// A dependency owns the state, and features get, set and observe it.
@MainActor
@Suite(.timeLimit(.minutes(1)))
struct DependencyOwnershipTests {
  /// Reads and writes, and expects nobody else to write during its lifetime: get and set.
  @MainActor
  @Observable
  final class SpeechSettings {
    @ObservationIgnored @Dependency(\.speechSynthesisSettingsClient) private var client
    var speechSettings: SpeechSynthesisSettings

    init() {
      @Dependency(\.speechSynthesisSettingsClient) var client
      speechSettings = client.get()
    }

    func rateChanged(to rate: Double) async throws {
      speechSettings.rate = rate
      try await client.set(speechSettings)
    }
  }

  /// Reads only, and expects others to write: get and observe.
  @MainActor
  @Observable
  final class ListeningQuiz {
    @ObservationIgnored @Dependency(\.speechSynthesisSettingsClient) private var client
    @ObservationIgnored @Shared(value: 0) var updates
    var speechSettings: SpeechSynthesisSettings

    init() {
      @Dependency(\.speechSynthesisSettingsClient) var client
      speechSettings = client.get()
    }

    /// Runs as long as the quiz appears.
    func onTask() async {
      for await newValue in client.observe() {
        speechSettings = newValue
        $updates.withLock { $0 += 1 }
      }
    }

    /// Returns when the quiz has heard of as many values.
    func heard(_ count: Int) async {
      for await updates in $updates.updates where updates >= count { return }
    }
  }

  @Test func theDependencyKeepsTheSettings() async throws {
    @Dependency(\.defaultAppStorage) var defaults
    try await SpeechSettings().rateChanged(to: 1)
    #expect(SpeechSettings().speechSettings == SpeechSynthesisSettings(rate: 1))
    let stored = try #require(defaults.data(forKey: "speechSynthesisSettings"))
    #expect(try JSONDecoder().decode(SpeechSynthesisSettings.self, from: stored).rate == 1)
  }

  @Test func aFeatureObservesWhatAnotherOneSets() async throws {
    let (settings, quiz) = (SpeechSettings(), ListeningQuiz())
    let task = Task { await quiz.onTask() }
    await quiz.heard(1)
    try await settings.rateChanged(to: 1)
    await quiz.heard(2)
    #expect(quiz.speechSettings.rate == 1)
    task.cancel()
    await task.value
  }

  @Test func observingAgainReplaysWhatWasMissed() async throws {
    let (settings, quiz) = (SpeechSettings(), ListeningQuiz())
    let appearance = Task { await quiz.onTask() }
    await quiz.heard(1)
    appearance.cancel()
    await appearance.value
    try await settings.rateChanged(to: 1)
    #expect(quiz.speechSettings.rate == 0.5)

    let secondAppearance = Task { await quiz.onTask() }
    await quiz.heard(2)
    #expect(quiz.speechSettings.rate == 1)
    secondAppearance.cancel()
    await secondAppearance.value
  }

  @Test func theOwnerIsReplacedLikeAnyDependency() async throws {
    let quiz = withDependencies {
      $0.speechSynthesisSettingsClient.get = { SpeechSynthesisSettings(voice: "Fred") }
    } operation: {
      ListeningQuiz()
    }
    #expect(quiz.speechSettings.voice == "Fred")
    #expect(ListeningQuiz().speechSettings.voice == "Samantha")
  }
}
