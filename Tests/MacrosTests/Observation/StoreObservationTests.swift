import Observation
import SharedState
import SharedStateStore
import SharedStateTesting
import Testing

@Reducer
private struct Leaf {
  @ObservableState
  struct State: Equatable, Identifiable {
    let id: Int
    var count = 0
    var name = ""
  }

  enum Action: Equatable {
    case increment
  }

  var body: some ReducerOf<Self> {
    Reduce { state, action in
      state.count += 1
      return .none
    }
  }
}

@Reducer
private struct Branch {
  @ObservableState
  struct State: Equatable, Identifiable {
    let id: Int
    @Presents var leaf: Leaf.State?
    var plain = 0
  }

  enum Action: Equatable {
    case leaf(PresentationAction<Leaf.Action>)
  }

  var body: some ReducerOf<Self> {
    EmptyReducer().ifLet(\.$leaf, action: \.leaf) { Leaf() }
  }
}

@Reducer(state: .equatable, action: .equatable)
private enum TreePage {
  case leaf(Leaf)
  case branch(Branch)
}

/// Has children at every place where a feature may have them.
@Reducer
private struct Tree {
  @ObservableState
  struct State: Equatable {
    @Presents var page: TreePage.State?
    @Presents var branch: Branch.State?
    var optional: Branch.State?
    var own = Branch.State(id: 0)
    var path = StackState<TreePage.State>()
    var rows: IdentifiedArrayOf<Branch.State> = [Branch.State(id: 1), Branch.State(id: 2)]
    var plain = 0
  }

  enum Action {
    case page(PresentationAction<TreePage.Action>)
    case branch(PresentationAction<Branch.Action>)
    case optional(Branch.Action)
    case own(Branch.Action)
    case path(StackActionOf<TreePage>)
    case rows(IdentifiedActionOf<Branch>)
    case set(@Sendable (inout State) -> Void)
  }

  var body: some ReducerOf<Self> {
    Scope(state: \.own, action: \.own) { Branch() }
    Reduce { state, action in
      if case .set(let change) = action { change(&state) }
      return .none
    }
    .ifLet(\.$page, action: \.page)
    .ifLet(\.$branch, action: \.branch) { Branch() }
    .ifLet(\.optional, action: \.optional) { Branch() }
    .forEach(\.path, action: \.path)
    .forEach(\.rows, action: \.rows) { Branch() }
  }
}

@ObservableState
private enum Mode: Equatable {
  case off
  case on(Leaf.State)
}

extension Optional {
  /// Changes the value, if there is one.
  fileprivate mutating func change(_ body: (inout Wrapped) -> Void) {
    guard var value = self else { return }
    body(&value)
    self = value
  }
}

@Suite("Observation of a store", .timeLimit(.minutes(5)))
struct StoreObservationTests {
  private let store: StoreOf<Tree>

  init() {
    // A new state each time: readers of one copy are told about changes of the others.
    var branch: Branch.State { Branch.State(id: 7, leaf: Leaf.State(id: 8)) }
    store = Store(
      initialState: Tree.State(
        page: .branch(branch),
        branch: branch,
        optional: branch,
        own: branch,
        path: [.branch(branch), .leaf(Leaf.State(id: 9))],
        rows: [branch, Branch.State(id: 2, leaf: Leaf.State(id: 8))]
      )
    ) { Tree() }
  }

  /// The place of a branch, with the way to its leaf and its surroundings.
  enum Place: CaseIterable, Sendable {
    case page
    case branch
    case optional
    case own
    case path
    case rows

    fileprivate func read(_ state: Tree.State) -> Branch.State? {
      switch self {
      case .page: state.page?.branch
      case .branch: state.branch
      case .optional: state.optional
      case .own: state.own
      case .path: state.path.first?.branch
      case .rows: state.rows[id: 7]
      }
    }

    fileprivate func change(_ state: inout Tree.State, _ body: (inout Branch.State) -> Void) {
      switch self {
      case .page: state.page?.modify(\.branch, yield: body)
      case .branch: state.branch.change(body)
      case .optional: state.optional.change(body)
      case .own: body(&state.own)
      case .path: state.path[0].modify(\.branch, yield: body)
      case .rows: state.rows[id: 7].change(body)
      }
    }

    fileprivate func observe(_ store: StoreOf<Tree>) -> Observer {
      switch self {
      case .page: Observer(store.page)
      case .branch: Observer(store.branch)
      case .optional: Observer(store.optional)
      case .own: Observer(store.own)
      case .path: Observer(store.path)
      case .rows: Observer(store.rows)
      }
    }

    fileprivate func action(_ path: StackState<TreePage.State>) -> Tree.Action {
      let action = Branch.Action.leaf(.presented(.increment))
      return switch self {
      case .page: .page(.presented(.branch(action)))
      case .branch: .branch(.presented(action))
      case .optional: .optional(action)
      case .own: .own(action)
      case .path: .path(.element(id: path.ids[0], action: .branch(action)))
      case .rows: .rows(.element(id: 7, action: action))
      }
    }
  }

  @Test("A reader of a leaf is notified of its changes, a reader of its surroundings is not", arguments: Place.allCases)
  func leaf(place: Place) {
    let around = place.observe(store)
    let branch = Observer(place.read(store.state)?.plain)
    let leaf = Observer(place.read(store.state)?.leaf)
    let count = Observer(place.read(store.state)?.leaf?.count)
    let name = Observer(place.read(store.state)?.leaf?.name)
    let others = Place.allCases.filter { $0 != place }.map { other in
      Observer(other.read(store.state)?.leaf?.count)
    }
    store.send(place.action(store.path))
    #expect(count.hasHeard)
    #expect(!name.hasHeard)
    #expect(!leaf.hasHeard)
    #expect(!branch.hasHeard)
    #expect(!around.hasHeard)
    #expect(!others.contains { $0.hasHeard })
    #expect(place.read(store.state)?.leaf?.count == 1)
  }

  @Test("A reader of a leaf is notified when it is replaced or removed", arguments: Place.allCases)
  func anotherLeaf(place: Place) {
    let around = place.observe(store)
    for leaf in [Leaf.State(id: 8), nil] {
      let observer = Observer(place.read(store.state)?.leaf)
      let count = Observer(place.read(store.state)?.leaf?.count)
      store.send(.set { state in place.change(&state) { $0.leaf = leaf } })
      #expect(observer.hasHeard)
      #expect(count.hasHeard)
    }
    #expect(!around.hasHeard)
  }

  @Test("A reader through a child's store is notified of what it has read, too")
  func scoped() throws {
    let branch = try #require(store.scope(state: \.$branch, action: \.branch))
    let leaf = try #require(branch.scope(state: \.$leaf, action: \.leaf))
    let count = Observer(leaf.count)
    let name = Observer(leaf.name)
    let plain = Observer(branch.plain)
    let row = store.scope(state: \.rows, action: \.rows)[0]
    let rowPlain = Observer(row.plain)
    store.send(.branch(.presented(.leaf(.presented(.increment)))))
    #expect(count.hasHeard)
    #expect(!name.hasHeard)
    #expect(!plain.hasHeard)
    store.send(.set { $0.rows[id: 7]?.plain = 5 })
    #expect(rowPlain.hasHeard)
  }

  @Test("Elements that come and go notify readers of the array, but not readers of other elements")
  func elements() {
    let rows = Observer(store.rows)
    let second = Observer(store.rows[id: 2]?.plain)
    store.send(.set { $0.rows[id: 2]?.plain = 1 })
    #expect(second.hasHeard)
    #expect(!rows.hasHeard)
    store.send(.set { $0.rows.remove(id: 7) })
    #expect(rows.hasHeard)
    let path = Observer(store.path)
    let top = Observer(store.path.last?.leaf?.count)
    store.send(.set { $0.path[1].modify(\.leaf) { $0.count += 1 } })
    #expect(top.hasHeard)
    #expect(!path.hasHeard)
    store.send(.path(.popFrom(id: store.path.ids[1])))
    #expect(path.hasHeard)
  }

  @Test("Another presented case notifies readers of the presentation")
  func anotherCase() {
    let page = Observer(store.page)
    let plain = Observer(store.plain)
    store.send(.set { $0.page = .leaf(Leaf.State(id: 1)) })
    #expect(page.hasHeard)
    #expect(!plain.hasHeard)
  }

  @Test("Replacing a whole state, with a new or an old one, notifies its readers")
  func wholeState() throws {
    let old = store.state
    let branch = try #require(store.scope(state: \.$branch, action: \.branch))
    store.send(.set { $0.plain = 1 })
    func observers() -> [Observer] {
      [
        Observer(store.plain), Observer(store.rows[id: 7]?.plain), Observer(branch.plain),
        Observer(store.withState { $0.plain }),
      ]
    }
    let beforeOld = observers()
    store.send(.set { $0 = old })
    #expect(beforeOld.allSatisfy { $0.hasHeard })
    #expect(store.plain == 0)
    let beforeNew = observers()
    store.send(.set { $0 = Tree.State() })
    #expect(beforeNew.allSatisfy { $0.hasHeard })
  }

  @Test("A reader that reads again once it is registered, and at every notification, misses no change")
  func changesMeanwhile() async throws {
    for _ in 0..<100 {
      let store = Store(initialState: Tree.State()) { Tree() }
      let changes = Task.detached {
        for _ in 0..<20 { store.send(.set { $0.plain += 1 }) }
      }
      try await inTime("the last change") {
        while !Task.isCancelled {
          let (told, tell) = AsyncStream.makeStream(of: Void.self)
          let plain = withObservationTracking {
            store.plain
          } onChange: {
            tell.finish()
          }
          if plain == 20 { return }
          // Observation registers a reader only when the closure has ended. A change before that is not told.
          guard store.plain == plain else { continue }
          for await _ in told {}
        }
      }
      await changes.value
    }
  }

  @Test("A state that an action changes does not count as replaced, however many copies there are")
  func copiesOfTheWhole() {
    let plain = Observer(store.plain)
    let copies = (0..<3).map { number in
      store.send(.set { $0.own.plain = number })
      return store.state
    }
    store.send(
      .set { state in
        var copy = state
        copy.own.plain = 5
        state = copy
      }
    )
    #expect(copies.map(\.own.plain) == [0, 1, 2])
    #expect(!plain.hasHeard)
  }

  @Test("Putting an old child back as a whole notifies readers of the difference", arguments: Place.allCases)
  func oldBranch(place: Place) {
    let old = place.read(store.state)
    store.send(.set { state in place.change(&state) { $0.plain = 1 } })
    let plain = Observer(place.read(store.state)?.plain)
    let others = Place.allCases.filter { $0 != place }.map { other in
      Observer(other.read(store.state)?.plain)
    }
    store.send(.set { state in place.change(&state) { $0 = old ?? $0 } })
    #expect(plain.hasHeard)
    #expect(!others.contains { $0.hasHeard })
    #expect(place.read(store.state)?.plain == 0)
  }

  @Test("An enum state notifies its readers when its case changes")
  func enumeration() {
    let store = Store(initialState: Mode.off) {
      Reduce<Mode, Mode> { state, action in
        state = action
        return .none
      }
    }
    let off = Observer(store.state)
    store.send(.off)
    #expect(!off.hasHeard)
    store.send(.on(Leaf.State(id: 1)))
    #expect(off.hasHeard)
    let on = Observer(store.state)
    store.send(.on(Leaf.State(id: 1)))
    #expect(on.hasHeard)
  }
}
