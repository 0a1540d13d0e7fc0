import SharedState

/// Forwards to another key, and records the load requests.
struct CountedKey<Base: SharedReaderKey>: SharedReaderKey {
  enum Request: Hashable, Sendable {
    case first, explicit
  }

  let base: Base
  let requests = Journal<Request>()

  // Unlike the identifier of the base key, so that the two never share a box.
  var id: ObjectIdentifier { ObjectIdentifier(requests) }

  func load(context: LoadContext<Base.Value>, continuation: LoadContinuation<Base.Value>) {
    requests.append(context.initialValue == nil ? .explicit : .first)
    base.load(context: context, continuation: continuation)
  }

  func subscribe(
    context: LoadContext<Base.Value>,
    subscriber: SharedSubscriber<Base.Value>
  ) -> SharedSubscription {
    base.subscribe(context: context, subscriber: subscriber)
  }
}
