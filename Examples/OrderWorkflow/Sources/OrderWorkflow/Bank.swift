package import SharedState
package import SharedStateDependencies
import SharedStateRedis

/// The bank, an external service.
package struct Bank: TestDependencyKey, Sendable {
  package var charge: @Sendable (Order) async throws -> Void

  package init(charge: @escaping @Sendable (Order) async throws -> Void) {
    self.charge = charge
  }

  private struct NoBank: Error {}

  package static let testValue = Bank { _ in throw NoBank() }

  /// A bank that records every charge.
  ///
  /// - Parameter chargesOnce: Whether the bank checks if it has already charged the order. Then charging is idempotent,
  ///   and a service that does not know whether it has charged an order can safely charge it again.
  package static func keeping(_ ledger: Shared<[Charge]>, chargesOnce: Bool) -> Bank {
    Bank { order in
      try await ledger.updateAtomically { charges in
        if chargesOnce, charges.contains(where: { $0.order == order.id }) { return }
        charges.append(Charge(order: order.id, amount: order.price))
      }
    }
  }
}

/// A charge by the bank for an order.
package struct Charge: Codable, Equatable, Sendable {
  package let order: Order.ID
  /// In cents.
  package let amount: Int
}

extension SharedKey where Self == RedisSharedKey<[Charge]>.Default {
  /// All charges of the bank so far.
  static var ledger: Self { Self[.redis("bank:ledger"), default: []] }
}

extension DependencyValues {
  package var bank: Bank {
    get { self[Bank.self] }
    set { self[Bank.self] = newValue }
  }
}
