import Foundation
import SharedState
import SharedStateDependencies
import SharedStateStore
import SharedStateStoreTesting
import SharedStateTesting
import Testing
import XCTest

/// A dependency owns the state, and features get, set and observe it.
@Suite("Strategies: dependency ownership", .timeLimit(.minutes(5)))
struct DependencyOwnershipTests {
  /// Get and set: the feature reads and writes, and expects no other writer during its lifetime.
  struct SpeechSettingsFeature: Reducer {
    struct State: Equatable {
      // ...
      var speechSettings: SpeechSynthesisSettings
      init() {
        @Dependency(\.speechSynthesisSettingsClient) var speechSettingsClient
        speechSettings = speechSettingsClient.get()
        // ...
      }
    }
    enum Action {
      case rateChanged(Double)
    }
    @Dependency(\.speechSynthesisSettingsClient) var speechSettingsClient
    var body: some ReducerOf<Self> {
      Reduce { state, action in
        // ...
        switch action {
        case .rateChanged(let rate):
          state.speechSettings.rate = rate
          return .none
        }
      }
      .onChange(of: \.speechSettings) { _, newValue in
        Reduce { state, _ in
          .run { _ in
            try await speechSettingsClient.set(newValue)
          } catch: { _, _ in
            XCTFail("SpeechSettingsClient unexpectedly failed to write")
          }
        }
      }
    }
  }

  /// Get and observe: the feature only reads, and expects other writers.
  struct ListeningQuizFeature: Reducer {
    struct State: Equatable {
      var speechSettings: SpeechSynthesisSettings
      // ...
      init() {
        @Dependency(\.speechSynthesisSettingsClient) var speechSettingsClient
        speechSettings = speechSettingsClient.get()
        // ...
      }
    }
    enum Action: BindableAction, Equatable {
      case onSpeechSettingsUpdated(SpeechSynthesisSettings)
      case onTask
      // ...
      case binding(BindingAction<State>)
    }
    @Dependency(\.speechSynthesisSettingsClient) var speechSettingsClient
    var body: some ReducerOf<Self> {
      Reduce { state, action in
        switch action {
        case let .onSpeechSettingsUpdated(newValue):
          state.speechSettings = newValue
          return .none
        case .onTask:
          return .run { send in
            for await newValue in speechSettingsClient.observe() {
              await send(.onSpeechSettingsUpdated(newValue))
            }
          }
        // ...
        case .binding:
          return .none
        }
        // ...
      }
    }
  }

  @Test("The dependency stores the settings that a feature changes")
  func storedSettings() async throws {
    @Dependency(\.defaultAppStorage) var defaults
    let store = Store(initialState: SpeechSettingsFeature.State()) { SpeechSettingsFeature() }
    await store.send(.rateChanged(1)).finish()
    #expect(SpeechSettingsFeature.State().speechSettings.rate == 1)
    let stored = try #require(defaults.data(forKey: "speechSynthesisSettings"))
    #expect(try JSONDecoder().decode(SpeechSynthesisSettings.self, from: stored).rate == 1)
  }

  @Test("A feature observes the settings that another feature changes")
  func observedSettings() async {
    let quiz = TestStore(initialState: ListeningQuizFeature.State()) { ListeningQuizFeature() }
    quiz.timeout = patience
    let task = await quiz.send(.onTask)
    await quiz.receive(.onSpeechSettingsUpdated(SpeechSynthesisSettings()))
    let settings = Store(initialState: SpeechSettingsFeature.State()) { SpeechSettingsFeature() }
    await settings.send(.rateChanged(1)).finish()
    @Shared(.appStorage("speechSynthesisSettings")) var stored = SpeechSynthesisSettings()
    await quiz.receive(.onSpeechSettingsUpdated(SpeechSynthesisSettings(rate: 1))) {
      $0.speechSettings.rate = 1
      $stored.withLock { $0.rate = 1 }
    }
    await task.cancel()
  }

  /// Option A: a view waits for its effects when it appears, and cancels them when it disappears.
  @Test("A feature that observes again receives the change that it missed")
  func resumedObservation() async throws {
    let quiz = Store(initialState: ListeningQuizFeature.State()) { ListeningQuizFeature() }
    let settings = Store(initialState: SpeechSettingsFeature.State()) { SpeechSettingsFeature() }
    let appearance = Task { await quiz.send(.onTask).finish() }
    await settings.send(.rateChanged(1)).finish()
    try await eventually("the quiz to receive the change") { quiz.speechSettings.rate == 1 }
    appearance.cancel()
    await appearance.value
    await settings.send(.rateChanged(2)).finish()
    #expect(quiz.speechSettings.rate == 1)

    let secondAppearance = Task { await quiz.send(.onTask).finish() }
    try await eventually("the quiz to receive the missed change") { quiz.speechSettings.rate == 2 }
    secondAppearance.cancel()
    await secondAppearance.value
  }

  /// Option B: effects go on without anybody waiting for them.
  @Test("An unawaited effect outlives the task that started it and ends when it is cancelled")
  func unawaitedEffect() async throws {
    let quiz = Store(initialState: ListeningQuizFeature.State()) { ListeningQuizFeature() }
    let settings = Store(initialState: SpeechSettingsFeature.State()) { SpeechSettingsFeature() }
    let appearance = Task { quiz.send(.onTask) }
    appearance.cancel()
    let observation = await appearance.value
    await settings.send(.rateChanged(1)).finish()
    try await eventually("the quiz to receive the change") { quiz.speechSettings.rate == 1 }
    observation.cancel()
    try await inTime("the end of the observation") { await observation.finish() }
  }

  @Test("A store's override replaces the owner of the settings for that store only")
  func overriddenOwner() {
    let quiz = Store(initialState: ListeningQuizFeature.State()) {
      ListeningQuizFeature()
    } withDependencies: {
      $0.speechSynthesisSettingsClient.get = { SpeechSynthesisSettings(voice: "Fred") }
    }
    #expect(quiz.speechSettings.voice == "Fred")
    #expect(ListeningQuizFeature.State().speechSettings.voice == "Samantha")
  }
}
