import SharedState
import SharedStateRedis

/// An order of a customer.
package struct Order: Codable, Equatable, Identifiable, Sendable {
  package enum Status: String, Codable, Sendable {
    case placed, paid, shipped
  }

  package let id: String
  package let item: String
  /// In cents.
  package let price: Int
  package var status = Status.placed

  package init(id: String, item: String, price: Int) {
    (self.id, self.item, self.price) = (id, item, price)
  }
}

extension SharedKey where Self == RedisSharedKey<[Order.ID: Order]>.Default {
  /// All orders, which the services share.
  static var orders: Self { Self[.redis("orders"), default: [:]] }
}

extension Shared<[Order.ID: Order]> {
  /// Moves an order to the next status, unless that has already happened.
  func advance(_ id: Order.ID, from status: Order.Status, to next: Order.Status) async throws {
    try await updateAtomically { orders in
      if orders[id]?.status == status { orders[id]?.status = next }
    }
  }
}
