import Foundation
import SharedState
import SharedStateTesting
import Testing

@Suite("A key that does not answer in time", .timeLimit(.minutes(5)))
struct TimeoutTests {
  @Test("A load times out, and a later answer is still shown")
  func load() async throws {
    let backend = ScriptedBackend<Int>.loadingByHand()
    @Shared(.scripted(backend)) var value = 1
    await #expect(throws: TimedOutError()) { try await $value.load(within: .milliseconds(1)) }
    let reader = SharedReader($value)
    await #expect(throws: TimedOutError()) { try await reader.load(within: .milliseconds(1)) }
    for load in backend.loads.elements { load.continuation.resume(returning: 2) }
    #expect(value == 2)
    #expect(!$value.isLoading)
  }

  @Test("A save, a reset and an atomic update that time out are still completed by the key")
  func save() async throws {
    let backend = ScriptedBackend<Int>.savingByHand()
    @Shared(.scripted(backend)) var value = 1
    $value.withLock { $0 = 2 }
    await #expect(throws: TimedOutError()) { try await $value.save(within: .milliseconds(1)) }
    await #expect(throws: TimedOutError()) { try await $value.updateAtomically(within: .milliseconds(1)) { $0 += 1 } }
    #expect(value == 3)
    await #expect(throws: TimedOutError()) { try await $value.reset(within: .milliseconds(1)) }
    #expect(value == 1)
    // One after the other: each save begins when the previous one has ended.
    var answered = 0
    while case let saves = backend.saves.elements.dropFirst(answered), !saves.isEmpty {
      for save in saves { save.continuation.resume() }
      answered += saves.count
    }
    #expect(backend.savedValues.last == 1)
    #expect(TimedOutError().localizedDescription == "The key has not answered in time.")
  }

  @Test("An answer in time causes no error, and a value without a key never times out")
  func inTime() async throws {
    let backend = ScriptedBackend<Int>.storing(5)
    @Shared(.scripted(backend)) var value = 1
    try await $value.load(within: patience)
    try await $value.save(within: patience)
    #expect(value == 5)
    let local = Shared(value: 1)
    try await local.load(within: .zero)
    try await local.save(within: .zero)
    try await local.reset(within: .zero)
  }
}
