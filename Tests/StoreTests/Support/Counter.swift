import SharedStateStore

/// A feature with an effect of each kind.
struct Counter: Reducer {
  struct State: Equatable {
    var count = 0
    var received: [Int] = []
  }

  enum Action: Equatable, Sendable {
    case increment
    case echo
    case chain(Int)
    case received(Int)
    case run(Int)
    case merge
    case concatenate
  }

  var body: some ReducerOf<Self> {
    Reduce { state, action in
      switch action {
      case .increment:
        state.count += 1
        return .none
      case .echo:
        return .send(.increment)
      case .chain(let length):
        state.count += 1
        return length == 0 ? .none : .send(.chain(length - 1))
      case .received(let number):
        state.received.append(number)
        return .none
      case .run(let number):
        return .run { send in await send(.received(number)) }
      case .merge:
        return .merge(.send(.received(1)), .run { send in await send(.received(2)) })
      case .concatenate:
        return .concatenate(
          .run { send in
            await Task.yield()
            await send(.received(1))
          },
          .send(.received(2)),
          .run { send in await send(.received(3)) }
        )
      }
    }
  }
}
