import SharedState

extension Reducer {
  /// Prints each action, and what it changes of the state: to find a mistake, and for debug builds only.
  ///
  /// - Parameter printer: Where it is written; `nil` for nowhere.
  public func _printChanges(_ printer: ReducerPrinter<State, Action>? = .customDump) -> some Reducer<State, Action> {
    return ModifiedReducer(self) { base in
      Reduction(
        run: { state, action in
          guard let printer else { return base.run(&state, action) }
          let before = state
          let effect = base.run(&state, action)
          printer.print(action, before, state)
          return effect
        },
        children: base.children
      )
    }
  }
}

/// Writes what a reducer does.
public struct ReducerPrinter<State: Sendable, Action: Sendable>: Sendable {
  let print: @Sendable (_ action: Action, _ oldState: State, _ newState: State) -> Void

  /// A printer that is a closure. It is called while the action is being reduced, so it must not use the store.
  public init(
    printChange: @escaping @Sendable (_ receivedAction: Action, _ oldState: State, _ newState: State) -> Void
  ) {
    print = printChange
  }

  /// Prints actions, and how the state differs: in tests as a tree, in programs as the parts that do.
  public static var customDump: Self {
    Self { action, oldState, newState in
      let difference = Difference.between(oldState, newState).map { $0.indented(by: 2) } ?? "  (No state changes)"
      Swift.print("received action:\n\(Difference.dump(action).indented(by: 2))\n\(difference)\n")
    }
  }

  /// Prints actions by their cases.
  public static var actionLabels: Self {
    Self { action, _, _ in
      let label = Mirror(reflecting: action).children.first?.label ?? "\(action)"
      Swift.print("received action: \(label)")
    }
  }
}
