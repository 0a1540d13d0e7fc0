import Foundation
import Logging
import SharedState
@testable import SharedStateRedis
import SharedStateRedisTesting
import Testing

/// BadDataHeld, for the members of a document instead of the whole: two releases share one name, and the older one does
/// not know a case.
@Suite("Members that an older release cannot read", .timeLimit(.minutes(5)), .endsStores)
struct UnreadableMembersTests {
  private enum OlderPlan: String, Codable { case free, pro }
  private enum NewerPlan: String, Codable { case free, pro, gold }

  private struct Flag<Plan: Codable & Hashable & Sendable>: Codable, Hashable, Sendable {
    var isOn: Bool
    var plan: Plan
  }

  private struct Item<Plan: Codable & Hashable & Sendable>: Codable, Hashable, Identifiable, Sendable {
    var id: Int
    var plan: Plan
  }

  private struct Config<Plan: Codable & Hashable & Sendable>: Codable, Hashable, Sendable {
    var banner = ""
    var flags: [String: Flag<Plan>] = [:]
    var items: [Item<Plan>] = []
  }

  private typealias Older = Config<OlderPlan>
  private typealias Newer = Config<NewerPlan>

  private static let path = #"flags["checkout"].plan"#
  private static let newer = Newer(
    flags: ["checkout": Flag(isOn: true, plan: .pro), "search": Flag(isOn: false, plan: .free)],
    items: [Item(id: 1, plan: .free), Item(id: 2, plan: .pro)]
  )
  private static let older = Older(
    flags: ["checkout": Flag(isOn: true, plan: .pro), "search": Flag(isOn: false, plan: .free)],
    items: [Item(id: 1, plan: .free), Item(id: 2, plan: .pro)]
  )

  private func paths(_ error: (any Error)?) -> [String] { (error as? RedisSharedStateError)?.unreadableMembers ?? [] }

  @Test("The rest is shown, the error names the paths, and what is stored stays", arguments: BackendKind.allCases)
  func keepLast(kind: BackendKind) async throws {
    let (backend, journal) = (try kind.make(), Journal())
    let store = try backend.store("older", logger: journal.logger("older"))
    @Shared(.redis("config", store: store, options: .init(unreadableMembers: .keepLast))) var older = Older()
    @Shared(.redis("config", store: try backend.store("newer"))) var newer = Newer()
    try await $newer.load()
    $newer.withLock { $0 = Self.newer }
    try await $newer.save()
    try await $older.becomes(Self.older)
    #expect($older.loadError == nil)

    $newer.withLock {
      $0.banner = "Down"
      $0.flags["checkout"]?.plan = .gold
    }
    try await $newer.save()
    var expected = Self.older
    expected.banner = "Down"
    try await $older.becomes(expected)
    try await $older.status { paths($0.loadError) == [Self.path] }
    #expect(!"\($older.loadError as Any)".contains("gold"))
    try await $older.load()
    #expect(store.readiness(of: "config") == .live)
    let entries = journal.entries("Members of the stored value cannot be read", name: "config")
    #expect(entries.map(\.members) == [Self.path])

    // None of these changes the member.
    let stored = try backend.get("config")
    try await $older.save()
    try await $older.updateAtomically { _ in }
    #expect(try backend.get("config") == stored)
    $older.withLock { $0.flags["checkout"]?.isOn = false }
    try await $older.save()
    try await $older.updateAtomically { config in
      config.banner += "!"
      config.flags["later"] = Flag(isOn: true, plan: .free)
    }
    var changed = Self.newer
    changed.banner = "Down!"
    changed.flags["checkout"] = Flag(isOn: false, plan: .gold)
    changed.flags["later"] = Flag(isOn: true, plan: .free)
    try await $newer.becomes(changed)
    expected.banner = "Down!"
    expected.flags["checkout"]?.isOn = false
    expected.flags["later"] = Flag(isOn: true, plan: .free)
    try await $older.becomes(expected)
    #expect(paths($older.loadError) == [Self.path])

    // An assignment of its own does.
    $older.withLock { $0.flags["checkout"]?.plan = .free }
    try await $older.save()
    changed.flags["checkout"]?.plan = .free
    try await $newer.becomes(changed)
    try await $older.status { $0.loadError == nil }
  }

  @Test("A pending change is merged with a document that can be read in part", arguments: BackendKind.allCases)
  func pending(kind: BackendKind) async throws {
    let backend = try kind.make()
    let stores = (try backend.store("older"), try backend.store("newer"))
    @Shared(.redis("config", store: stores.0, options: .init(unreadableMembers: .keepLast))) var older = Older()
    @Shared(.redis("config", store: stores.1)) var newer = Newer()
    try await $older.load()
    $newer.withLock { $0 = Self.newer }
    try await $newer.save()
    try await $older.becomes(Self.older)
    try backend.pause()
    $older.withLock { $0.banner = "Down" }
    $newer.withLock { $0.flags["checkout"] = Flag(isOn: false, plan: .gold) }
    try backend.resume()
    try await stores.0.flush(within: patience)
    try await stores.1.flush(within: patience)
    var (expected, others) = (Self.older, Self.newer)
    (expected.banner, others.banner) = ("Down", "Down")
    expected.flags["checkout"]?.isOn = false
    others.flags["checkout"] = Flag(isOn: false, plan: .gold)
    try await $older.becomes(expected)
    try await $newer.becomes(others)
    try await $older.status { paths($0.loadError) == [Self.path] && $0.saveError == nil }
  }

  @Test(
    "With the policy of the default, an entry without one is absent, and stays stored",
    arguments: BackendKind.allCases
  )
  func useDefault(kind: BackendKind) async throws {
    let backend = try kind.make()
    let options = RedisSharedKey<Older>.Options(unreadableMembers: .useDefault)
    let flags = ["search": Flag(isOn: true, plan: OlderPlan.pro)]
    @Shared(.redis("config", store: try backend.store("older"), options: options)) var older = Older(flags: flags)
    @Shared(.redis("config", store: try backend.store("newer"))) var newer = Newer()
    try await $newer.load()
    try await $older.load()
    $newer.withLock {
      $0.flags = ["checkout": Flag(isOn: true, plan: .gold), "search": Flag(isOn: false, plan: .gold)]
    }
    try await $newer.save()
    try await $older.becomes(Older(flags: ["search": Flag(isOn: false, plan: .pro)]))
    try await $older.status { paths($0.loadError).sorted() == [Self.path, #"flags["search"].plan"#] }
    try await $older.updateAtomically { $0.flags["search"]?.isOn = true }
    try await $newer.becomes(
      Newer(flags: ["checkout": Flag(isOn: true, plan: .gold), "search": Flag(isOn: true, plan: .gold)])
    )
  }

  @Test("An element of a list is left out, and stays stored", arguments: BackendKind.allCases)
  func elements(kind: BackendKind) async throws {
    let backend = try kind.make()
    let options = RedisSharedKey<Older>.Options(unreadableMembers: .keepLast)
    @Shared(.redis("config", store: try backend.store("older"), options: options)) var older = Older()
    @Shared(.redis("config", store: try backend.store("newer"))) var newer = Newer()
    try await $newer.load()
    try await $older.load()
    $newer.withLock { $0.items = [Item(id: 1, plan: .gold), Item(id: 2, plan: .pro), Item(id: 3, plan: .free)] }
    try await $newer.save()
    try await $older.becomes(Older(items: [Item(id: 2, plan: .pro), Item(id: 3, plan: .free)]))
    try await $older.status { paths($0.loadError) == ["items[0].plan"] }
    $older.withLock { older in
      older.items.removeLast()
      older.items[0].plan = .free
    }
    try await $older.save()
    try await $newer.becomes(Newer(items: [Item(id: 1, plan: .gold), Item(id: 2, plan: .free)]))
    #expect(older == Older(items: [Item(id: 2, plan: .free)]))
  }

  @Test("The key's rule judges the shown value", arguments: BackendKind.allCases)
  func rule(kind: BackendKind) async throws {
    let backend = try kind.make()
    let options = RedisSharedKey<Older>.Options(unreadableMembers: .keepLast) { config in
      guard config.flags["checkout"]?.plan == .pro else { throw RuleError() }
    }
    try backend.set("config", #"{"banner":"","flags":{"checkout":{"isOn":true,"plan":"pro"}},"items":[]}"#)
    @Shared(.redis("config", store: try backend.store(), options: options)) var older = Self.older
    try await $older.load()
    try backend.set("config", #"{"banner":"Down","flags":{"checkout":{"isOn":true,"plan":"gold"}},"items":[]}"#)
    try await $older.value { $0.banner == "Down" }
    #expect(older.flags["checkout"]?.plan == .pro)
    // Nothing is left that could replace the entry, which the last document lacks.
    try backend.set("config", #"{"banner":"Up","flags":{"search":{"isOn":true,"plan":"gold"}},"items":[]}"#)
    try await $older.status { ($0.loadError as? RedisSharedStateError)?.code == .rejected }
    #expect(older.banner == "Down")
  }

  private struct RuleError: Error, CustomStringConvertible {
    var description: String { "checkout has to be pro" }
  }

  @Test("Only a save that asks for it replaces the members", arguments: BackendKind.allCases)
  func replacement(kind: BackendKind) async throws {
    let backend = try kind.make()
    let options = RedisSharedKey<Older>.Options(unreadableMembers: .useDefault)
    try backend.set("config", #"{"banner":7,"flags":{},"items":[],"more":true}"#)
    @Shared(.redis("config", store: try backend.store(), options: options)) var older = Older()
    try await $older.status { paths($0.loadError) == ["banner"] }
    try await $older.save()
    #expect(try backend.get("config") == #"{"banner":7,"flags":{},"items":[],"more":true}"#)
    try await $older.save(replacingUnreadable: true)
    #expect(try backend.get("config") == #"{"banner":"","flags":{},"items":[]}"#)
    try await $older.status { $0.loadError == nil && $0.saveError == nil }
  }

  @Test(
    "The document is held as a whole by default, by the last write, and when it is of another kind",
    arguments: BackendKind.allCases
  )
  func held(kind: BackendKind) async throws {
    let backend = try kind.make()
    let text = #"{"banner":"Down","flags":{"checkout":{"isOn":true,"plan":"gold"}},"items":[]}"#
    for options: RedisSharedKey<Older>.Options in [
      .init(), .init(conflict: .lastWriteWins, unreadableMembers: .keepLast),
    ] {
      try backend.set("config", text)
      @Shared(.redis("config", store: try backend.store(), options: options)) var older = Older()
      let error = await #expect(throws: RedisSharedStateError.self) { try await $older.load() }
      #expect(error?.code == .undecodable && error?.unreadableMembers == [])
      #expect(error?.description.contains(Self.path) == true)
      $older.withLock { $0.banner = "Up" }
      try await $older.status { $0.hasUndecodable(\.saveError) }
      #expect(try backend.get("config") == text)
    }
    try backend.set("other", "[]")
    let options = RedisSharedKey<Older>.Options(unreadableMembers: .keepLast)
    @Shared(.redis("other", store: try backend.store(), options: options)) var other = Older()
    let error = await #expect(throws: RedisSharedStateError.self) { try await $other.load() }
    #expect(error?.unreadableMembers == [])
  }
}
