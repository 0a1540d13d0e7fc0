import SharedStateStore
import Testing

// The samples of the article "Macros by hand", and the same declarations with the macros.

enum Action: Equatable {
  case buttonTapped
  case nameChanged(String)
}

extension Action: CasePathable {
  struct AllCasePaths: Sendable {
    var buttonTapped: AnyCasePath<Action, Void> {
      AnyCasePath(
        embed: { _ in .buttonTapped },
        extract: { if case .buttonTapped = $0 { () } else { nil } }
      )
    }
    var nameChanged: AnyCasePath<Action, String> {
      AnyCasePath(
        embed: { .nameChanged($0) },
        extract: { if case .nameChanged(let name) = $0 { name } else { nil } }
      )
    }
  }

  static var allCasePaths: AllCasePaths { AllCasePaths() }
}

struct Counter: ObservableState {
  private var _count = 0
  var _$observationRegistrar = ObservationStateRegistrar()

  var count: Int {
    get {
      _$observationRegistrar.access("count")
      return _count
    }
    set {
      _$observationRegistrar.willChange()
      _$observationRegistrar.set("count", &_count, to: newValue)
    }
    _modify {
      let before = _$observationRegistrar.willModify(_count)
      defer { _$observationRegistrar.didModify("count", _count, before) }
      yield &_count
    }
  }

  var _$id: ObservableStateID { _$observationRegistrar.id }
}

enum Screen: ObservableState {
  case counter(Counter)
  case nothing

  var _$id: ObservableStateID {
    switch self {
    case .counter(let counter): counter._$id.case(0)
    case .nothing: .case(1)
    }
  }
}

private enum ByMacro {
  @CasePathable enum Action: Equatable {
    case buttonTapped
    case nameChanged(String)
  }

  @ObservableState struct Counter {
    var count = 0
  }

  @ObservableState enum Screen {
    case counter(Counter)
    case nothing
  }
}

@Suite("Macros by hand", .timeLimit(.minutes(5)))
struct MacrosByHandTests {
  @Test("Case paths written by hand equal those of the macro")
  func casePaths() {
    #expect(AnyCasePath(\Action.Cases.nameChanged).extract(from: .nameChanged("a")) == "a")
    #expect(AnyCasePath(\ByMacro.Action.Cases.nameChanged).extract(from: .nameChanged("a")) == "a")
    #expect(Action.buttonTapped.is(\.buttonTapped))
    #expect(ByMacro.Action.buttonTapped.is(\.buttonTapped))
    #expect((\Action.Cases.nameChanged)("b") == Action.nameChanged("b"))
    #expect((\ByMacro.Action.Cases.nameChanged)("b") == ByMacro.Action.nameChanged("b"))
  }

  @Test("A state that is observed by hand behaves like that of the macro")
  func observation() {
    var (byHand, byMacro) = (Counter(), ByMacro.Counter())
    #expect(
      changes(&byHand) {
        $0.count
      } by: {
        $0.count += 1
      } == 1
    )
    #expect(
      changes(&byMacro) {
        $0.count
      } by: {
        $0.count += 1
      } == 1
    )
    #expect(
      changes(&byHand) {
        $0.count
      } by: {
        $0.count = $0.count
      } == 0
    )
    #expect(
      changes(&byMacro) {
        $0.count
      } by: {
        $0.count = $0.count
      } == 0
    )
  }

  @Test("An enum has the identity of its associated value, by hand and by the macro")
  func enumeration() {
    let (byHand, byMacro) = (Counter(), ByMacro.Counter())
    #expect(Screen.counter(byHand)._$id == Screen.counter(byHand)._$id)
    #expect(ByMacro.Screen.counter(byMacro)._$id == ByMacro.Screen.counter(byMacro)._$id)
    #expect(Screen.counter(byHand)._$id != Screen.nothing._$id)
    #expect(ByMacro.Screen.counter(byMacro)._$id != ByMacro.Screen.nothing._$id)
    var (screen, screenByMacro) = (Screen.counter(byHand), ByMacro.Screen.counter(byMacro))
    var (changed, changedByMacro) = (byHand, byMacro)
    changed.count += 1
    changedByMacro.count += 1
    screen = .counter(changed)
    screenByMacro = .counter(changedByMacro)
    #expect(screen._$id != Screen.counter(byHand)._$id)
    #expect(screenByMacro._$id != ByMacro.Screen.counter(byMacro)._$id)
  }

  /// The number of readers that are told about a change.
  private func changes<State, Value>(
    _ state: inout State,
    of read: (State) -> Value,
    by change: (inout State) -> Void
  ) -> Int {
    let observer = Observer { _ = read(state) }
    change(&state)
    return observer.hasHeard ? 1 : 0
  }
}
