import SharedState
import SharedStateDependencies

/// The state that a dependency owns.
struct SpeechSynthesisSettings: Codable, Equatable, Sendable {
  var voice = "Samantha"
  var rate = 0.5
}

/// The owner. All features that depend on it share the settings, however they are linked.
struct SpeechSynthesisSettingsClient {
  var get: @Sendable () -> (SpeechSynthesisSettings)
  var set: @Sendable (SpeechSynthesisSettings) async throws -> Void
  var observe: @Sendable () -> AsyncStream<SpeechSynthesisSettings>
}

extension SpeechSynthesisSettingsClient {
  /// Keeps the settings in the storage of the key.
  init(_ key: some SharedKey<SpeechSynthesisSettings>) {
    let settings = Shared(wrappedValue: SpeechSynthesisSettings(), key)
    get = { settings.wrappedValue }
    set = { newValue in
      settings.withLock { $0 = newValue }
      try await settings.save()
    }
    // Starts with the present settings, so that a late or returning observer has missed nothing relevant.
    observe = {
      let (stream, continuation) = AsyncStream.makeStream(
        of: SpeechSynthesisSettings.self,
        bufferingPolicy: .bufferingNewest(1)
      )
      let task = Task {
        for await present in settings.updates { continuation.yield(present) }
        continuation.finish()
      }
      continuation.onTermination = { _ in task.cancel() }
      return stream
    }
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
