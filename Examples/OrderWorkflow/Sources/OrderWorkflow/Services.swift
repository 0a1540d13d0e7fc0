package import SharedState
import SharedStateDependencies
package import SharedStateRedis
package import SharedStateStore

extension Shop {
  /// A shop that shares its orders on this Redis.
  package static func service(on redis: RedisStore) -> StoreOf<Shop> {
    withDependencies {
      $0.defaultRedisStore = redis
    } operation: {
      let store = Store(initialState: State()) { Shop() }
      store.send(.started)
      return store
    }
  }
}

extension Payment {
  /// A payment service that shares the orders on this Redis.
  package static func service(on redis: RedisStore, bank: Bank) -> StoreOf<Payment> {
    withDependencies {
      $0.defaultRedisStore = redis
      $0.bank = bank
    } operation: {
      let store = Store(initialState: State()) { Payment() }
      store.send(.started)
      return store
    }
  }
}

extension Shared<[Charge]> {
  /// The charges of the bank, on this Redis.
  package static func ledger(on redis: RedisStore) -> Shared {
    withDependencies {
      $0.defaultRedisStore = redis
    } operation: {
      Shared(.ledger)
    }
  }
}
