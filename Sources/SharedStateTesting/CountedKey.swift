import SharedState

/// Loads and watches by way of another key, and remembers what it was asked for.
struct CountedKey<Base: SharedReaderKey>: SharedReaderKey {
  enum Request: Hashable, Sendable {
    case first, explicit
  }

  let base: Base
  let requests = Journal<Request>()

  // No share of the key itself is a share of this one.
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
