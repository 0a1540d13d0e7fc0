import Foundation
import SharedState
import SharedStateDependencies
import Testing

@Suite("The landing page of SharedState", .timeLimit(.minutes(5)))
struct LandingPageTests {
  struct Player {
    @Shared(.appStorage("volume")) var volume = 0.5

    func louder() {
      $volume.withLock { $0 = min(1, $0 + 0.1) }
    }
  }

  @Test("A new player has the volume that an earlier one has set")
  func aPlayerGetsLouder() {
    let player = Player()
    player.louder()
    #expect(Player().volume == 0.6)
  }

  @Test("A key with a default needs no other default and saves its changes")
  func keyWithDefault() async throws {
    @Dependency(\.defaultAppStorage) var defaults
    @Shared(.volume) var volume
    #expect(volume == 0.5)
    Player().louder()
    #expect(volume == 0.6)
    try await $volume.save()
    if let error = $volume.saveError { print("The volume is not saved: \(error)") }
    #expect(defaults.double(forKey: "volume") == 0.6)
  }

  @Test("A volume is updated atomically and reset to its default")
  func updateAndReset() async throws {
    @Dependency(\.defaultAppStorage) var defaults
    @Shared(.volume) var volume
    try await $volume.updateAtomically { $0 = min(1, $0 + 0.1) }
    #expect(defaults.double(forKey: "volume") == 0.6)
    try await $volume.reset()
    #expect(volume == 0.5)
    #expect(defaults.object(forKey: "volume") == nil)
  }
}

extension SharedReaderKey where Self == AppStorageKey<Double>.Default {
  static var volume: Self {
    Self[.appStorage("volume"), default: 0.5]
  }
}
