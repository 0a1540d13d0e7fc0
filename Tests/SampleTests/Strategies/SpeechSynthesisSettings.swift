import SharedState
import SharedStateDependencies

/// The state that a dependency owns.
struct SpeechSynthesisSettings: Codable, Equatable, Sendable {
  var voice = "Samantha"
  var rate = 0.5
}

/// The owner: whoever depends on it shares the settings, however features are linked.
struct SpeechSynthesisSettingsClient: Sendable {
  var get: @Sendable () -> SpeechSynthesisSettings
  var set: @Sendable (SpeechSynthesisSettings) async throws -> Void
  /// Starts with the present settings, so that whoever comes late, or comes back, has missed nothing that counts.
  var observe: @Sendable () -> SharedUpdates<SpeechSynthesisSettings>
}

extension SpeechSynthesisSettingsClient {
  /// Keeps the settings where the key says.
  init(_ key: some SharedKey<SpeechSynthesisSettings>) {
    let settings = Shared(wrappedValue: SpeechSynthesisSettings(), key)
    get = { settings.wrappedValue }
    set = { newValue in
      settings.withLock { $0 = newValue }
      try await settings.save()
    }
    observe = { settings.updates }
  }
}

extension SpeechSynthesisSettingsClient: DependencyKey {
  static var liveValue: Self { Self(.appStorage("speechSynthesisSettings")) }
  static var testValue: Self { liveValue }
}

extension DependencyValues {
  var speechSynthesisSettingsClient: SpeechSynthesisSettingsClient {
    get { self[SpeechSynthesisSettingsClient.self] }
    set { self[SpeechSynthesisSettingsClient.self] = newValue }
  }
}
