import SharedStateDependencies
import Synchronization
import Testing

/// A dependency with state, which shows what shares it.
final class Counter: Sendable {
  private let count = Mutex(0)

  @discardableResult
  func increment() -> Int {
    count.withLock { count in
      count += 1
      return count
    }
  }
}

enum CounterKey: DependencyKey {
  static var liveValue: Counter { Counter() }
  static var testValue: Counter { Counter() }
}

/// A dependency whose default names the context.
enum NameKey: DependencyKey {
  static var liveValue: String { "live" }
  static var previewValue: String { "preview" }
  static var testValue: String { "test" }
}

struct Settings: Sendable, Equatable {
  var volume = 1
  var pitch = 1
}

/// A dependency without a test value.
enum SettingsKey: DependencyKey {
  static var liveValue: Settings { Settings() }
}

/// A dependency that is itself its key, and whose live value is elsewhere.
struct WallClock: TestDependencyKey, Equatable {
  var hour: Int
  static var testValue: WallClock { WallClock(hour: 12) }
}

enum NicknameKey: DependencyKey {
  static var liveValue: String? { "nick" }
  static var testValue: String? { nil }
}

/// A dependency whose test value reports itself.
enum ReportingKey: TestDependencyKey {
  static var testValue: Int {
    if shouldReportUnimplemented { Issue.record("ReportingKey was used.") }
    return 1
  }
}

/// A dependency whose default depends on another one.
enum GreetingKey: DependencyKey {
  static var liveValue: String { greeting }
  static var testValue: String { greeting }

  private static var greeting: String {
    @Dependency(\.name) var name
    return "Hello, \(name)"
  }
}

extension DependencyValues {
  var counter: Counter {
    get { self[CounterKey.self] }
    set { self[CounterKey.self] = newValue }
  }

  var name: String {
    get { self[NameKey.self] }
    set { self[NameKey.self] = newValue }
  }

  var settings: Settings {
    get { self[SettingsKey.self] }
    set { self[SettingsKey.self] = newValue }
  }

  var reporting: Int {
    get { self[ReportingKey.self] }
    set { self[ReportingKey.self] = newValue }
  }

  var nickname: String? {
    get { self[NicknameKey.self] }
    set { self[NicknameKey.self] = newValue }
  }

  var greeting: String {
    get { self[GreetingKey.self] }
    set { self[GreetingKey.self] = newValue }
  }
}

/// An object with dependencies. The wrappers are constants, so that it can be sent to other threads.
final class Model: Sendable {
  private let nameDependency = Dependency(\.name)
  private let counterDependency = Dependency(CounterKey.self)

  var name: String { nameDependency.wrappedValue }
  var counter: Counter { counterDependency.wrappedValue }
}

/// Tells whether a counter is still alive.
final class WeakBox: Sendable {
  private struct Box: Sendable {
    weak var counter: Counter?
  }

  private let box = Mutex(Box())

  var isReleased: Bool {
    box.withLock { $0.counter == nil }
  }

  func set(_ counter: Counter) {
    box.withLock { $0.counter = counter }
  }
}

struct TestError: Error {}
