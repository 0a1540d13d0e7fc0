import SharedState

/// Records the calls of a `ScriptedKey`, and answers as the test says: at once, or later by hand.
final class ScriptedBackend<Value: Sendable>: Sendable {
  struct Load: Sendable {
    let context: LoadContext<Value>
    let continuation: LoadContinuation<Value>
  }

  struct Save: Sendable {
    let value: Value
    let context: SaveContext
    let continuation: SaveContinuation
  }

  typealias LoadHandler = @Sendable (Load) -> Void
  typealias SaveHandler = @Sendable (Save) -> Void

  let loads = Recorder<Load>()
  let saves = Recorder<Save>()
  let subscribers = Recorder<SharedSubscriber<Value>>()
  let cancellations = Recorder<Void>()

  private let onLoad: LoadHandler
  private let onSave: SaveHandler
  private let onSubscribe: @Sendable () -> Void

  /// By default nothing is stored, and every save succeeds at once.
  init(
    onLoad: @escaping LoadHandler = { $0.continuation.resumeReturningInitialValue() },
    onSave: @escaping SaveHandler = { $0.continuation.resume() },
    onSubscribe: @escaping @Sendable () -> Void = {}
  ) {
    self.onLoad = onLoad
    self.onSave = onSave
    self.onSubscribe = onSubscribe
  }

  /// A backend whose loads the test answers by hand.
  static func loadingByHand() -> ScriptedBackend {
    ScriptedBackend(onLoad: { _ in })
  }

  /// A backend whose saves the test answers by hand.
  static func savingByHand() -> ScriptedBackend {
    ScriptedBackend(onSave: { _ in })
  }

  /// A backend that always loads this value.
  static func storing(_ value: Value) -> ScriptedBackend {
    ScriptedBackend(onLoad: { $0.continuation.resume(returning: value) })
  }

  var savedValues: [Value] { saves.elements.map(\.value) }

  func yield(_ value: Value) {
    for subscriber in subscribers.elements { subscriber.yield(value) }
  }

  func load(_ load: Load) {
    loads.append(load)
    onLoad(load)
  }

  func save(_ save: Save) {
    saves.append(save)
    onSave(save)
  }

  func subscribe(_ subscriber: SharedSubscriber<Value>) -> SharedSubscription {
    subscribers.append(subscriber)
    onSubscribe()
    return SharedSubscription { [cancellations] in cancellations.append(()) }
  }
}

struct TestError: Error, Hashable {
  var number = 0
}
