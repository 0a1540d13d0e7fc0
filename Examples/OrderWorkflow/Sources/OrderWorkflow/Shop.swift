import SharedState
package import SharedStateStore

/// Takes orders, and ships paid ones.
@Reducer
package struct Shop: Sendable {
  package struct State: Equatable, Sendable {
    @Shared(.orders) package var orders

    package init() {}
  }

  package enum Action: Equatable, Sendable {
    case started
    case ordered(Order)
    case paid(Order.ID)
  }

  package init() {}

  package var body: some ReducerOf<Self> {
    Reduce { state, action in
      switch action {
      case .started:
        return .run { [orders = state.$orders] send in
          for await orders in orders.updates {
            for order in orders.values where order.status == .paid { await send(.paid(order.id)) }
          }
        }
      case .ordered(let order):
        return .run { [orders = state.$orders] _ in
          try await orders.updateAtomically { orders in
            if orders[order.id] == nil { orders[order.id] = order }
          }
        }
      case .paid(let id):
        return .run { [orders = state.$orders] _ in
          try await orders.advance(id, from: .paid, to: .shipped)
        }
      }
    }
  }
}
