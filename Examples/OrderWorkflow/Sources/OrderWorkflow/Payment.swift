import SharedState
import SharedStateDependencies
package import SharedStateStore

/// Charges each placed order, and saves that it is paid.
///
/// It may end at any moment, and another instance goes on from the stored orders. If it ends between charging and
/// saving, the order is charged, but not yet known to be paid.
@Reducer
package struct Payment: Sendable {
  package struct State: Equatable, Sendable {
    @Shared(.orders) package var orders
    /// Orders that are being charged.
    package var underWay: Set<Order.ID> = []

    package init() {}
  }

  package enum Action: Equatable, Sendable {
    case started
    case due(Order.ID)
    case settled(Order.ID)
    case failed(Order.ID)
  }

  /// How long it waits before it tries again.
  package static let pause = Duration.seconds(1)

  @Dependency(\.bank) var bank
  @Dependency(\.continuousClock) var clock

  package init() {}

  package var body: some ReducerOf<Self> {
    Reduce { state, action in
      switch action {
      case .started:
        return .run { [orders = state.$orders] send in
          for await orders in orders.updates {
            for order in orders.values where order.status == .placed { await send(.due(order.id)) }
          }
        }
      case .due(let id):
        guard let order = state.orders[id], order.status == .placed, state.underWay.insert(id).inserted else {
          return .none
        }
        return .run { [orders = state.$orders] send in
          try await bank.charge(order)
          try await orders.advance(id, from: .placed, to: .paid)
          await send(.settled(id))
        } catch: { _, send in
          await send(.failed(id))
        }
      case .settled(let id):
        state.underWay.remove(id)
        return .none
      case .failed(let id):
        state.underWay.remove(id)
        return .run { send in
          try await clock.sleep(for: Self.pause)
          await send(.due(id))
        }
      }
    }
  }
}
