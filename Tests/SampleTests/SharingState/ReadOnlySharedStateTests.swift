import SharedState
import Synchronization
import Testing

@Suite("Sharing state: read-only shares", .timeLimit(.minutes(5)))
struct ReadOnlySharedStateTests {
  @Test("A reader has the value that a share writes")
  func readerOfShare() {
    @Shared(.appStorage("isOn")) var isOn = false
    @SharedReader(.appStorage("isOn")) var isReallyOn = false
    $isOn.withLock { $0 = true }
    #expect(isReallyOn)
  }

  @Test("A reader with a read-only key has its default, then the published value")
  func readOnlyKey() {
    @SharedReader(.remoteConfig) var remoteConfig
    #expect(remoteConfig == RemoteConfig())
    RemoteConfigServer.shared.publish(RemoteConfig(maximumItems: 20))
    #expect(remoteConfig.maximumItems == 20)
  }
}

private struct RemoteConfig: Equatable {
  var maximumItems = 10
}

/// Holds the configuration, and sends a new one to its subscriber.
private final class RemoteConfigServer: Sendable {
  static let shared = RemoteConfigServer()

  private let subscriber = Mutex<SharedSubscriber<RemoteConfig>?>(nil)

  func subscribe(_ new: SharedSubscriber<RemoteConfig>?) {
    subscriber.withLock { $0 = new }
  }

  func publish(_ config: RemoteConfig) {
    subscriber.withLock { $0 }?.yield(config)
  }
}

private struct RemoteConfigKey: SharedReaderKey, Hashable {
  func load(context: LoadContext<RemoteConfig>, continuation: LoadContinuation<RemoteConfig>) {
    continuation.resume(returning: RemoteConfig())
  }

  func subscribe(
    context: LoadContext<RemoteConfig>,
    subscriber: SharedSubscriber<RemoteConfig>
  ) -> SharedSubscription {
    RemoteConfigServer.shared.subscribe(subscriber)
    return SharedSubscription { RemoteConfigServer.shared.subscribe(nil) }
  }
}

extension SharedReaderKey where Self == RemoteConfigKey.Default {
  fileprivate static var remoteConfig: Self {
    Self[RemoteConfigKey(), default: RemoteConfig()]
  }
}
