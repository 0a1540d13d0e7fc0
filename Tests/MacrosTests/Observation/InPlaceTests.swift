import Observation
import SharedStateStore
import Synchronization
import Testing

@Suite("A property of an observed state, changed by a child", .timeLimit(.minutes(5)))
struct InPlaceTests {
  /// Knows whether a copy of it exists.
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
      var page = Page()
      @Presents var presented: Bag? = Bag()
      private(set) var count = 0
    }

    @ObservableState
    struct Page {
      var number = 1
      var section = Section()
      @Presents var presented: Bag? = Bag()
    }

    @ObservableState
    struct Section {
      var title = ""
      var bag = Bag()
      var optional: Bag? = Bag()
    }

    @CasePathable
    enum Look {
      case now
    }

    @CasePathable
    enum Action {
      case bag(Look)
      case inner(Look)
      case optional(Look)
      case presented(PresentationAction<Look>)
      case innerPresented(PresentationAction<Look>)
    }

    private var looking: some Reducer<Bag, Look> {
      Reduce { bag, _ in
        bag.look()
        return .none
      }
    }

    var body: some ReducerOf<Self> {
      Scope(state: \.bag, action: \.bag) { looking }
      Scope(state: \.page.section.bag, action: \.inner) { looking }
      EmptyReducer()
        .ifLet(\.page.section.optional, action: \.optional) { looking }
        .ifLet(\.$presented, action: \.presented) { looking }
        .ifLet(\.page.$presented, action: \.innerPresented) { looking }
    }
  }

  @Test("A child changes a property without copying it")
  func inPlace() {
    let store = Store(initialState: Feature.State()) { Feature() }
    store.send(.bag(.now))
    #expect(store.state.bag.wasCopied == false)
  }

  @Test("A child changes a property behind a key path of several steps without copying it")
  func severalSteps() {
    let store = Store(initialState: Feature.State()) { Feature() }
    let number = Observer(store.page.number)
    let bag = Observer(store.page.section.bag)
    store.send(.inner(.now))
    #expect(store.state.page.section.bag.wasCopied == false)
    #expect(bag.hasHeard)
    #expect(!number.hasHeard)
    store.send(.optional(.now))
    #expect(store.state.page.section.optional?.wasCopied == false)
  }

  @Test("A child changes a presented property without copying it")
  func presented() {
    let store = Store(initialState: Feature.State()) { Feature() }
    store.send(.presented(.presented(.now)))
    #expect(store.state.presented?.wasCopied == false)
    store.send(.innerPresented(.presented(.now)))
    #expect(store.state.page.presented?.wasCopied == false)
  }

  @Test("A child's change to a property notifies the observers of the property")
  func observed() {
    let store = Store(initialState: Feature.State()) { Feature() }
    let hasHeard = Mutex(false)
    withObservationTracking {
      _ = store.state.bag
    } onChange: {
      hasHeard.withLock { $0 = true }
    }
    store.send(.bag(.now))
    #expect(hasHeard.withLock { $0 })
  }
}
