import Foundation
import SharedStateDependencies
import SharedStateTesting
import Testing

@testable import SharedState

@Suite("The contract of keys", .timeLimit(.minutes(5)))
struct SharedKeyContractTests {
  private static let numbers = [0, 1, 2, 3]
  private static let lists = [[], [1], [1, 2], [3]]

  @Test("An in-memory key passes each check", arguments: SharedKeyContract<InMemoryKey<Int>>.checksWithoutOutsider)
  func inMemory(check: SharedKeyContract<InMemoryKey<Int>>) async throws {
    try await check.run(on: .init(values: Self.numbers) { .inMemory($0) })
  }

  @Test("A key of app storage passes each check", arguments: SharedKeyContract<AppStorageKey<Int>>.allChecks)
  func appStorage(check: SharedKeyContract<AppStorageKey<Int>>) async throws {
    let store = SendableDefaults(defaults: InMemoryUserDefaults.makeEmpty())
    let outsider = SharedKeyContract<AppStorageKey<Int>>.Outsider(
      read: { store.defaults.object(forKey: $0) as? Int },
      write: { store.defaults.set($1, forKey: $0) },
      remove: { store.defaults.removeObject(forKey: $0) },
      damage: { store.defaults.set("no number", forKey: $0) }
    )
    try await check.run(
      on: .init(values: Self.numbers, outsider: outsider) { .appStorage($0, store: store.defaults) }
    )
  }

  @Test("A key of a file in memory passes each check", arguments: SharedKeyContract<FileStorageKey<[Int]>>.allChecks)
  func filesInMemory(check: SharedKeyContract<FileStorageKey<[Int]>>) async throws {
    let files = InMemoryFiles()
    let outsider = SharedKeyContract<FileStorageKey<[Int]>>.Outsider(
      read: { name in try files.read("/\(name)").map { try JSONDecoder().decode([Int].self, from: $0.data) } },
      write: { files.write(try JSONEncoder().encode($1), to: "/\($0)") },
      remove: { files.remove("/\($0)") },
      damage: { files.write(Data("no numbers".utf8), to: "/\($0)") }
    )
    try await withDependencies {
      $0.defaultFileStorage = FileStorage(files: files)
    } operation: {
      try await check.run(
        on: .init(values: Self.lists, outsider: outsider) { .fileStorage(URL(fileURLWithPath: "/\($0)")) }
      )
    }
  }

  @Test("A key of a file on disk passes each check", arguments: SharedKeyContract<FileStorageKey<[Int]>>.allChecks)
  func filesOnDisk(check: SharedKeyContract<FileStorageKey<[Int]>>) async throws {
    let directory = try TemporaryDirectory()
    let outsider = SharedKeyContract<FileStorageKey<[Int]>>.Outsider(
      read: { name in
        guard let data = FileManager.default.contents(atPath: directory[name].path) else { return nil }
        return try JSONDecoder().decode([Int].self, from: data)
      },
      write: { try JSONEncoder().encode($1).write(to: directory[$0], options: .atomic) },
      remove: { try FileManager.default.removeItem(at: directory[$0]) },
      damage: { try Data("no numbers".utf8).write(to: directory[$0], options: .atomic) }
    )
    try await withDisk {
      try await check.run(on: .init(values: Self.lists, outsider: outsider) { .fileStorage(directory[$0]) })
    }
  }

  @Test("A key with async functions passes each check", arguments: SharedKeyContract<ConfigKey>.allChecks)
  func asyncKey(check: SharedKeyContract<ConfigKey>) async throws {
    let client = ConfigClient()
    try await check.run(
      on: .init(values: Self.numbers, outsider: client.service.outsider) { ConfigKey(client: client, name: $0) }
    )
  }

  @Test("A key written by hand passes each check", arguments: SharedKeyContract<SampleKey>.allChecks)
  func sample(check: SharedKeyContract<SampleKey>) async throws {
    try await check.run(on: SampleStorage().contractStorage())
  }

  // MARK: The checks find what is broken

  @Test("A check finds a broken key", arguments: SampleKey.Fault.allCases)
  func brokenKey(fault: SampleKey.Fault) async throws {
    let check = try #require(SharedKeyContract<SampleKey>.allChecks.first { $0.name == fault.check })
    await #expect {
      try await check.run(on: SampleStorage(fault: fault).contractStorage(patience: .milliseconds(300)))
    } throws: { error in
      (error as? SharedKeyContractViolation)?.check == fault.check
    }
  }

  @Test("A check reports if the test does not provide its requirements")
  func incompleteStorage() async throws {
    for check in SharedKeyContract<SampleKey>.allChecks {
      await #expect(throws: SharedKeyContractViolation.self) {
        try await check.run(on: .init(values: [0, 1, 2, 0]) { SampleKey(storage: SampleStorage(), name: $0) })
      }
    }
    let named = Set(SharedKeyContract<SampleKey>.checksWithoutOutsider.map(\.name))
    for check in SharedKeyContract<SampleKey>.allChecks where !named.contains(check.name) {
      await #expect(throws: SharedKeyContractViolation.self) {
        try await check.run(on: .init(values: [0, 1, 2, 3]) { SampleKey(storage: SampleStorage(), name: $0) })
      }
    }
  }
}

/// Carries user defaults, which are documented to be safe to use from any thread.
private struct SendableDefaults: @unchecked Sendable {
  let defaults: UserDefaults
}
