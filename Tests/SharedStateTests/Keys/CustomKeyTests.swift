import SharedState
import Synchronization
import Testing

/// Samples of custom keys, as a newcomer writes them.
@Suite("Custom keys", .timeLimit(.minutes(5)))
struct CustomKeyTests {
  let drawer = Drawer<Int>()

  @Test("A type that conforms to SharedKey and a static function make a strategy")
  func customKey() async throws {
    @Shared(.custom("count", in: drawer)) var myValue: Int = 0
    $myValue.withLock { $0 += 1 }
    #expect(drawer["count"] == 1)
    @Shared(.custom("count", in: drawer)) var same = 0
    #expect(same == 1)
    drawer["count"] = 5
    #expect(myValue == 5)
    try await $myValue.save()
    let required = try await Shared(require: .custom("count", in: drawer))
    #expect(required.wrappedValue == 5)
  }

  @Test("An optional needs no default")
  func optional() {
    let drawer = Drawer<String?>()
    @Shared(.custom("name", in: drawer)) var name
    #expect(name == nil)
    $name.withLock { $0 = "Blob" }
    #expect(drawer["name"] == "Blob")
  }

  @Test("A key of a fixed type catches the wrong type, and reads better")
  func typeSafeKey() {
    @Shared(.launches) var launches = 3
    #expect(launches == 3)
    $launches.withLock { $0 += 1 }
    @SharedReader(.launches) var reader = 0
    #expect(reader == 4)
  }

  @Test("A key with its own default needs neither value nor type")
  func keyWithDefault() {
    @Shared(.visits) var visits
    #expect(visits == 7)
    $visits.withLock { $0 += 1 }
    @Shared(.visits) var same
    #expect(same == 8)
  }

  @Test("A read-only strategy follows its source")
  func readOnlyKey() {
    RemoteConfigKey.server["config"] = RemoteConfig(isPromoted: true)
    @SharedReader(.remoteConfig) var remoteConfig
    #expect(remoteConfig.isPromoted)
    RemoteConfigKey.server["config"] = nil
    #expect(!remoteConfig.isPromoted)
  }
}

/// A place outside of the library that holds values.
final class Drawer<Value: Sendable>: Sendable {
  private struct State {
    var values: [String: Value] = [:]
    var subscribers: [Int: (name: String, subscriber: SharedSubscriber<Value>)] = [:]
    var count = 0
  }

  private let state = Mutex(State())

  /// The stored value. Setting it is a change from elsewhere.
  subscript(name: String) -> Value? {
    get { state.withLock { $0.values[name] } }
    set {
      store(newValue, name)
      for entry in state.withLock({ $0.subscribers.values }) where entry.name == name {
        entry.subscriber.yield(with: .success(newValue))
      }
    }
  }

  func store(_ value: Value?, _ name: String) {
    state.withLock { $0.values[name] = value }
  }

  func subscribe(_ name: String, _ subscriber: SharedSubscriber<Value>) -> SharedSubscription {
    let number = state.withLock { state in
      state.count += 1
      state.subscribers[state.count] = (name, subscriber)
      return state.count
    }
    return SharedSubscription { [weak self] in self?.forget(number) }
  }

  private func forget(_ number: Int) {
    let forgotten = state.withLock { $0.subscribers.removeValue(forKey: number) }
    withExtendedLifetime(forgotten) {}
  }
}

/// A custom key.
final class CustomSharedKey<Value: Sendable>: SharedKey {
  let name: String
  let drawer: Drawer<Value>

  init(_ name: String, in drawer: Drawer<Value>) {
    self.name = name
    self.drawer = drawer
  }

  struct ID: Hashable {
    let name: String
    let drawer: ObjectIdentifier
  }

  var id: ID { ID(name: name, drawer: ObjectIdentifier(drawer)) }

  func load(context: LoadContext<Value>, continuation: LoadContinuation<Value>) {
    continuation.resume(with: .success(drawer[name]))
  }

  func subscribe(context: LoadContext<Value>, subscriber: SharedSubscriber<Value>) -> SharedSubscription {
    drawer.subscribe(name, subscriber)
  }

  func save(_ value: Value, context: SaveContext, continuation: SaveContinuation) {
    drawer.store(value, name)
    continuation.resume()
  }
}

extension SharedReaderKey {
  static func custom<Value>(_ name: String, in drawer: Drawer<Value>) -> Self where Self == CustomSharedKey<Value> {
    CustomSharedKey(name, in: drawer)
  }
}

private let launchesDrawer = Drawer<Int>()
private let visitsDrawer = Drawer<Int>()

extension SharedReaderKey where Self == CustomSharedKey<Int> {
  static var launches: Self {
    custom("launches", in: launchesDrawer)
  }
}

extension SharedReaderKey where Self == CustomSharedKey<Int>.Default {
  static var visits: Self {
    Self[.custom("visits", in: visitsDrawer), default: 7]
  }
}

struct RemoteConfig: Equatable, Sendable {
  var isPromoted = false
}

/// Loads and watches a file that a server holds, and never writes it.
struct RemoteConfigKey: SharedReaderKey, Hashable {
  static let server = Drawer<RemoteConfig>()

  func load(context: LoadContext<RemoteConfig>, continuation: LoadContinuation<RemoteConfig>) {
    continuation.resume(with: .success(Self.server["config"]))
  }

  func subscribe(
    context: LoadContext<RemoteConfig>,
    subscriber: SharedSubscriber<RemoteConfig>
  ) -> SharedSubscription {
    Self.server.subscribe("config", subscriber)
  }
}

extension SharedReaderKey where Self == RemoteConfigKey.Default {
  static var remoteConfig: Self {
    Self[RemoteConfigKey(), default: RemoteConfig()]
  }
}
