public import SharedStateStore

public import OpenCombine

extension Store {
  /// Publishes the present state, then the state after each action that has changed it, and after each change of a
  /// share in it.
  ///
  /// States are published in order, on the threads that send, with no lock held.
  public var publisher: StorePublisher<State> {
    StorePublisher { [core] in StateSubscription($0, core: core) }
  }
}

/// Publishes the states of a store, or of a part of it: `store.publisher.count`.
@dynamicMemberLookup
public struct StorePublisher<State: Sendable>: Publisher {
  /// A state.
  public typealias Output = State
  /// It never ends by itself.
  public typealias Failure = Never

  private let subscribe: (any Subscriber<State, Never>) -> any StateSubscribing

  init(_ subscribe: @escaping (any Subscriber<State, Never>) -> any StateSubscribing) {
    self.subscribe = subscribe
  }

  /// Begins with the present state.
  public func receive<Downstream: Subscriber>(subscriber: Downstream)
  where Downstream.Input == State, Downstream.Failure == Never {
    let subscription = subscribe(subscriber)
    subscriber.receive(subscription: subscription)
    subscription.start()
  }

  /// Publishes a part of the state whenever that part has changed.
  public subscript<Value: Equatable>(
    dynamicMember keyPath: KeyPath<State, Value>
  ) -> Publishers.RemoveDuplicates<Publishers.MapKeyPath<Self, Value>> {
    map(keyPath).removeDuplicates()
  }
}

protocol StateSubscribing: Subscription {
  func start()
}
