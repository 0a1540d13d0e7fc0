import CustomDump
import Foundation
import SharedState
import SharedStateDependencies
import SharedStateStore
import SharedStateStoreCasePaths
import SharedStateStoreTesting
import Testing

@Suite("Reducers and their bodies", .timeLimit(.minutes(5)))
struct ReducerTests {
  struct Adder: Reducer {
    let amount: Int

    func reduce(into state: inout Int, action: Int) -> Effect<Int> {
      state += amount
      return .none
    }
  }

  struct Built: Reducer {
    let isFirst: Bool
    let number: Int

    var body: some Reducer<Int, Int> {
      Adder(amount: 1)
      if isFirst { Adder(amount: 10) }
      if isFirst { Adder(amount: 100) } else { Adder(amount: 200) }
      switch number {
      case 1: Adder(amount: 1_000)
      case 2: Adder(amount: 2_000)
      default: EmptyReducer()
      }
      for _ in 0..<number { Adder(amount: 10_000) }
      let erased: any Reducer<Int, Int> = Adder(amount: 100_000)
      erased
      CombineReducers {
        Adder(amount: 1_000_000)
        Adder(amount: 1_000_000)
      }
    }
  }

  @Test("A body may have conditions, loops and reducers of unknown types")
  func builder() {
    func result(_ isFirst: Bool, _ number: Int) -> Int {
      let store = Store(initialState: 0) { Built(isFirst: isFirst, number: number) }
      store.send(0)
      return store.state
    }
    #expect(result(true, 1) == 2_111_111)
    #expect(result(false, 2) == 2_122_201)
    #expect(result(false, 0) == 2_100_201)
  }

  @Test("reduce(into:action:) also runs the body")
  func direct() {
    var state = 0
    _ = Built(isFirst: true, number: 0).reduce(into: &state, action: 0)
    #expect(state == 2_100_111)
  }

  @Test("onChange runs only when a part of the state has changed")
  func onChange() {
    let store = Store<[Int], Int>(initialState: []) {
      Reduce { state, action in
        if action > 0 { state.append(action) }
        return .none
      }
      .onChange(of: \.count) { oldValue, newValue in
        Reduce { state, _ in
          state.append(-oldValue * 10 - newValue)
          return .none
        }
      }
    }
    store.send(0)
    #expect(store.state == [])
    store.send(5)
    #expect(store.state == [5, -1])
  }

  @Test("A reducer's dependencies apply to itself and its effects")
  func dependencies() async {
    let store = TestStore(initialState: [String]()) {
      Reduce<[String], String> { state, action in
        @Dependency(\.uuid) var uuid
        guard action == "go" else {
          state.append(action)
          return .none
        }
        state.append(uuid().uuidString)
        return .run { send in
          @Dependency(\.uuid) var uuid
          await send(uuid().uuidString)
        }
      }
      .dependency(\.uuid, .constant(UUID(1)))
      .transformDependency(\.uuid) { $0 = .constant(UUID(2)) }
    }
    let id = UUID(1).uuidString
    await store.send("go") { $0 = [id] }
    await store.receive(id) { $0 = [id, id] }
  }

  @Test("A printer gets each action with the states before and after")
  func printChanges() {
    let lines = Locked<[[Int]]>([])
    let store = Store(initialState: 0) {
      Adder(amount: 2)._printChanges(
        ReducerPrinter { action, oldState, newState in lines.change { $0.append([action, oldState, newState]) } }
      )
    }
    store.send(7)
    #expect(lines.value == [[7, 0, 2]])
  }

  @Test("A printer shows a change of a share alone, with the value before")
  func printSharedChange() {
    struct State: Equatable {
      @Shared(value: 1) var count
    }
    let lines = Locked<[String]>([])
    let store = Store(initialState: State()) {
      Reduce<State, Int> { state, action in
        state.$count.withLock { $0 += action }
        return .none
      }
      ._printChanges(
        ReducerPrinter { _, oldState, newState in
          lines.change { $0.append(diff(oldState, newState) ?? "(No state changes)") }
        }
      )
    }
    store.send(1)
    store.send(0)
    #expect(lines.value.count == 2)
    #expect(lines.value.first?.contains("- ") == true)
    #expect(lines.value.first?.contains(" 1") == true && lines.value.first?.contains(" 2") == true)
    #expect(lines.value.last == "(No state changes)")
  }

  /// A feature that contains itself.
  struct Folder: Reducer {
    struct State: Equatable {
      var name = ""
      @PresentationState var child: State?
    }

    enum Action: Equatable {
      case rename(String)
      case open
      indirect case child(PresentationAction<Action>)
    }

    var body: some ReducerOf<Self> {
      Reduce { state, action in
        switch action {
        case .rename(let name): state.name = name
        case .open: state.child = State()
        case .child: break
        }
        return .none
      }
      .ifLet(\.$child, action: /Action.child) { Folder() }
    }
  }

  @Test("A feature may contain itself")
  func recursion() async {
    let store = TestStore(initialState: Folder.State()) { Folder() }
    await store.send(.open) { $0.child = Folder.State() }
    await store.send(.child(.presented(.open))) { $0.child?.child = Folder.State() }
    await store.send(.child(.presented(.child(.presented(.rename("leaf")))))) { $0.child?.child?.name = "leaf" }
    await store.send(.child(.dismiss)) { $0.child = nil }
  }

  /// Does everything twice. Its types follow from its body.
  struct Twice<Base: Reducer>: Reducer {
    let base: Base

    var body: some Reducer<Base.State, Base.Action> {
      base
      base
    }
  }

  @Test("A reducer around another one needs to name no types")
  func around() {
    let store = Store(initialState: 0) { Twice(base: Adder(amount: 3)) }
    store.send(1)
    #expect(store.state == 6)
  }
}
