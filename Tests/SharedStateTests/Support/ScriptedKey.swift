import SharedState

/// A key whose loads, saves and changes are driven by the test.
struct ScriptedKey<Value: Sendable>: SharedKey {
  let backend: ScriptedBackend<Value>

  var id: ObjectIdentifier { ObjectIdentifier(backend) }

  func load(context: LoadContext<Value>, continuation: LoadContinuation<Value>) {
    backend.load(ScriptedBackend.Load(context: context, continuation: continuation))
  }

  func subscribe(context: LoadContext<Value>, subscriber: SharedSubscriber<Value>) -> SharedSubscription {
    backend.subscribe(subscriber)
  }

  func save(_ value: Value, context: SaveContext, continuation: SaveContinuation) {
    backend.save(ScriptedBackend.Save(value: value, context: context, continuation: continuation))
  }
}

/// The read-only counterpart of `ScriptedKey`.
struct ScriptedReaderKey<Value: Sendable>: SharedReaderKey {
  let backend: ScriptedBackend<Value>

  var id: ObjectIdentifier { ObjectIdentifier(backend) }

  func load(context: LoadContext<Value>, continuation: LoadContinuation<Value>) {
    backend.load(ScriptedBackend.Load(context: context, continuation: continuation))
  }

  func subscribe(context: LoadContext<Value>, subscriber: SharedSubscriber<Value>) -> SharedSubscription {
    backend.subscribe(subscriber)
  }
}

extension SharedReaderKey {
  static func scripted<Value>(_ backend: ScriptedBackend<Value>) -> Self where Self == ScriptedKey<Value> {
    ScriptedKey(backend: backend)
  }
}
