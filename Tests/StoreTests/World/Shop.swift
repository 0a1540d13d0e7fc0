import SharedStateDependencies
import SharedState
import SharedStateRedis
import SharedStateStore

/// The stock that several shops sell from.
struct Stock: Codable, Equatable, Sendable {
  var count = 10
}

/// A service that sells from a stock that other services sell from, too.
struct Shop: Reducer {
  struct State: Equatable {
    @Shared(.redis("stock")) var stock = Stock()
    var sold = 0
    /// The number of sales with an unknown outcome.
    var unknown = 0
  }

  enum Action: Equatable {
    case sell
    case sellAtomically
    case sold
    case failed
  }

  var body: some ReducerOf<Self> {
    Reduce { state, action in
      switch action {
      case .sell:
        return .run { [stock = state.$stock] send in
          try await stock.load()
          let count = stock.wrappedValue.count
          stock.withLock { $0.count = count - 1 }
          try await stock.save()
          await send(.sold)
        }
      case .sellAtomically:
        return .run { [stock = state.$stock] send in
          try await stock.updateAtomically { $0.count -= 1 }
          await send(.sold)
        } catch: { _, send in
          await send(.failed)
        }
      case .failed:
        state.unknown += 1
        return .none
      case .sold:
        state.sold += 1
        return .none
      }
    }
  }

  /// A service on a server.
  static func service(on server: InProcessRedis, _ name: String) -> StoreOf<Shop> {
    var configuration = RedisConfiguration.inProcess
    configuration.label = name
    return withDependencies {
      $0.defaultRedisStore = .inProcess(server, configuration: configuration)
    } operation: {
      Store(initialState: Shop.State()) { Shop() }
    }
  }
}
