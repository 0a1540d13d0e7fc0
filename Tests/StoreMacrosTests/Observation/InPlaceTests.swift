import Observation
import SharedStateStore
import Synchronization
import Testing

@Suite("A property of an observed state, changed by a child", .timeLimit(.minutes(1)))
struct InPlaceTests {
  /// Can tell whether there is a copy of it.
  struct Bag: Equatable, Sendable {
    private final class Contents: Sendable {}

    private var contents = Contents()
    var wasCopied: Bool?

    mutating func look() {
      wasCopied = !isKnownUniquelyReferenced(&contents)
    }

    static func == (one: Self, other: Self) -> Bool {
      one.contents === other.contents && one.wasCopied == other.wasCopied
    }
  }

  @Reducer
  struct Feature {
    @ObservableState
    struct State {
      var bag = Bag()
      private(set) var count = 0
    }

    enum Action {
      case bag(Void)
    }

    var body: some ReducerOf<Self> {
      Scope(state: \.bag, action: \.bag) {
        Reduce<Bag, Void> { bag, _ in
          bag.look()
          return .none
        }
      }
    }
  }

  @Test("is not copied")
  func inPlace() {
    let store = Store(initialState: Feature.State()) { Feature() }
    store.send(.bag(()))
    #expect(store.state.bag.wasCopied == false)
  }

  @Test("tells who has read it")
  func observed() {
    let store = Store(initialState: Feature.State()) { Feature() }
    let hasHeard = Mutex(false)
    withObservationTracking {
      _ = store.state.bag
    } onChange: {
      hasHeard.withLock { $0 = true }
    }
    store.send(.bag(()))
    #expect(hasHeard.withLock { $0 })
  }
}
