public import SharedStateStore

public import OpenCombine

extension Store {
  /// Publishes the present state, then the state after each action that has changed it, and after each change of a
  /// share in it.
  ///
  /// States are published in order, on the threads that send, with no lock held. Actions that a reducer sends with
  /// `Effect.send` count as one with the action that they follow. A subscription keeps the store.
  public var publisher: StorePublisher<State> {
    StorePublisher(CorePublisher(store: self))
  }
}

/// Publishes the states of a store, or of a part of it: `store.publisher.child.name`.
@dynamicMemberLookup
public struct StorePublisher<State>: Publisher {
  /// A state.
  public typealias Output = State
  /// It ends only when the subscription is cancelled.
  public typealias Failure = Never

  private let states: AnyPublisher<State, Never>

  init(_ states: some Publisher<State, Never>) {
    self.states = states.eraseToAnyPublisher()
  }

  /// Begins with the present state.
  public func receive<Downstream: Subscriber>(subscriber: Downstream)
  where Downstream.Input == State, Downstream.Failure == Never {
    states.receive(subscriber: subscriber)
  }

  /// Publishes a part of the state whenever that part has changed.
  public subscript<Value: Equatable>(dynamicMember keyPath: KeyPath<State, Value>) -> StorePublisher<Value> {
    StorePublisher<Value>(states.map(keyPath).removeDuplicates())
  }
}

/// Publishes the states of a store.
private struct CorePublisher<State: Sendable, Action: Sendable>: Publisher {
  typealias Output = State
  typealias Failure = Never

  let store: Store<State, Action>

  func receive<Downstream: Subscriber>(subscriber: Downstream)
  where Downstream.Input == State, Downstream.Failure == Never {
    let subscription = StateSubscription(subscriber, store: store)
    subscriber.receive(subscription: subscription)
    subscription.start()
  }
}
