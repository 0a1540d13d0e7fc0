public import OrderedCollections
public import SharedState

extension Reducer {
  /// Runs a child on each element of an identified array or a stack, by a key path and a case key path.
  ///
  /// ```swift
  /// .forEach(\.path, action: \.path) { Path() }
  /// ```
  ///
  /// The child runs first. In a stack, `push` puts an element on top before this reducer runs, and `popFrom` removes
  /// elements after it has run. The effects of an element are cancelled when any reducer removes it. An action of a
  /// missing element is reported as an issue.
  @inlinable
  public func forEach<Elements: ChildCollection & Sendable, ElementsAction: ChildCollectionAction, Element: Reducer>(
    _ toElements: any WritableKeyPath<State, Elements> & Sendable,
    action toElementsAction: CaseKeyPath<Action, ElementsAction>,
    @ReducerBuilder<Elements.Element, ElementsAction.ElementAction> element: () -> Element,
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) -> some Reducer<State, Action>
  where
    ElementsAction.Container == Elements.Container,
    Element.State == Elements.Element,
    Element.Action == ElementsAction.ElementAction
  {
    ModifiedReducer(
      self,
      ElementsAction._$forEach(
        StatePart(toElements),
        AnyCasePath(toElementsAction),
        element(),
        fileID: fileID,
        filePath: filePath,
        line: line,
        column: column
      )
    )
  }
}

extension Reduction {
  /// Runs a child on each element of an identified array.
  @inlinable
  package static func withElements<ElementState, ElementAction, ID: Hashable & Sendable>(
    _ part: StatePart<State, IdentifiedArray<ID, ElementState>>,
    _ path: AnyCasePath<Action, (ID, ElementAction)>,
    _ element: some Reducer<ElementState, ElementAction>,
    at location: CallSite
  ) -> @Sendable (Self) -> Self {
    let child = LazyReduction { element._reduction }
    let component: @Sendable (ID) -> PathComponent = {
      PathComponent(place: part.keyPath, identity: .value(AnyHashable($0)))
    }
    return { base in
      Reduction(
        run: { state, action in
          guard let (id, elementAction) = path.extract(from: action) else { return base.run(&state, action) }
          let reduced = part.modify(&state) { elements -> (effect: Effect<ElementAction>, tags: (UInt32?, UInt32?))? in
            guard let index = elements.index(id: id) else { return nil }
            var tags: (UInt32?, UInt32?)
            let effect = elements.modify(at: index) { elementState in
              tags.0 = EnumTag.of(elementState)
              defer { tags.1 = EnumTag.of(elementState) }
              return child.value.run(&elementState, elementAction)
            }
            precondition(
              elements.ids[index] == id,
              "The reducer of an element has changed its identity. Let its parent remove it, and add another one."
            )
            return (effect, tags)
          }
          guard let reduced else {
            FeatureIssue.report(
              "was sent an action of an element that is not there",
              action,
              of: State.self,
              advice: """
                An effect of the element may have outlived it, a parent may have removed it before its reducer ran, or \
                the action was sent too early or too late.
                """,
              at: location
            )
            return base.run(&state, action)
          }
          var effect = base.run(&state, action)
          if !reduced.effect.isNone {
            effect = reduced.effect.map { path.embed((id, $0)) }.of(component(id)).merge(with: effect)
          }
          // An element in another case counts as another element.
          return reduced.tags.0 == reduced.tags.1 ? effect : effect.merge(with: .farewell(component(id)))
        },
        children: .joining(
          base.children,
          Children { state, action, live in
            let elements = part.read(state)
            guard let children = child.value.children else {
              return .elements(Elements(ids: elements.ids.elements, families: [:]))
            }
            var families: [ID: Presence] = [:]
            func ask(_ id: ID, _ action: ElementAction?) {
              guard families[id] == nil, let element = elements[id: id] else { return }
              families[id] = children.presence(element, action, live.within(component(id)))
            }
            if let (id, elementAction) = action.flatMap(path.extract) { ask(id, elementAction) }
            for case .value(let identity) in live.parents(at: part.keyPath) {
              if let id = identity.base as? ID { ask(id, nil) }
            }
            return .elements(Elements(ids: elements.ids.elements, families: families))
          } acting: { acting in
            var ids: [ID] = []
            var families: [ID: Presence] = [:]
            for one in acting {
              guard case .value(let identity) = one.component.identity, let id = identity.base as? ID,
                component(id) == one.component
              else { continue }
              ids.append(id)
              families[id] = child.value.children?.acting(one.children)
            }
            return .elements(Elements(ids: ids, families: families))
          } farewell: { before, state in
            guard case .elements(let before) = before, let before = before as? Elements<ID> else { return .none }
            let elements = part.read(state)
            let present = elements.ids
            let departed = present.departed(of: before.ids)
            if departed.isEmpty, before.families.isEmpty { return .none }
            var effects: [Effect<Action>] = departed.map { .farewell(component($0)) }
            for (id, family) in before.families {
              guard let element = elements[id: id], let children = child.value.children else { continue }
              let effect = children.farewell(family, element)
              if effect.isNone { continue }
              effects.append(effect.map { path.embed((id, $0)) }.of(component(id)))
            }
            return .merge(effects)
          }
        )
      )
    }
  }
}

/// The states of children that are elements: an identified array or a stack.
public protocol ChildCollection {
  /// The state of an element.
  associatedtype Element
  /// A type that the collection shares with its actions only.
  associatedtype Container
}

/// The actions of children that are elements: of an identified array or a stack.
public protocol ChildCollectionAction {
  /// The actions of an element.
  associatedtype ElementAction
  /// A type that the actions share with their collection only.
  associatedtype Container

  /// Runs a child on each element, for `forEach`: one method for all collections, because overloads multiply the work of
  /// the type checker with each method in a chain.
  ///
  /// - Parameter part: The `StatePart` of the collection.
  static func _$forEach<State, Action, Child: Reducer>(
    _ part: any Sendable,
    _ path: AnyCasePath<Action, Self>,
    _ child: Child,
    fileID: StaticString,
    filePath: StaticString,
    line: UInt,
    column: UInt
  ) -> @Sendable (Reduction<State, Action>) -> Reduction<State, Action> where Child.Action == ElementAction
}

extension IdentifiedArray: ChildCollection {
  /// The array of these identities.
  public typealias Container = IdentifiedArray<ID, Never>
}

/// The identities of the elements of an array at one moment.
@usableFromInline
struct Elements<ID: Hashable & Sendable>: Sendable {
  @usableFromInline
  let ids: [ID]
  /// The children that were present in some of the elements.
  @usableFromInline
  let families: [ID: Presence]

  @inlinable
  init(ids: [ID], families: [ID: Presence]) {
    self.ids = ids
    self.families = families
  }
}

extension OrderedSet {
  /// The old elements that are not in the set any more.
  @inlinable
  func departed(of old: [Element]) -> [Element] {
    let new = elements
    // Without changes both arrays share their memory, so this comparison is immediate.
    if old == new { return [] }
    // Most elements have kept their places, and comparing those takes a fraction of a search. `prefix(while:)` of the
    // zipped arrays would make an array of pairs, which takes ten times as long.
    let shorter = Swift.min(old.count, new.count)
    var start = 0
    while start < shorter, old[start] == new[start] { start += 1 }
    var end = 0
    while end < shorter - start, old[old.count - 1 - end] == new[new.count - 1 - end] { end += 1 }
    return old[start..<(old.count - end)].filter { !contains($0) }
  }
}

extension IdentifiedArray {
  /// Changes an element in place.
  @inlinable
  mutating func modify<Result>(at index: Int, _ body: (inout Element) -> Result) -> Result {
    body(&self[index])
  }
}

/// The actions of an identified array.
public enum IdentifiedAction<ID: Hashable & Sendable, Action> {
  /// An action of an element.
  indirect case element(id: ID, action: Action)
}

/// The actions of an identified array of features.
public typealias IdentifiedActionOf<R: Reducer> = IdentifiedAction<R.State.ID, R.Action>
where R.State: Identifiable, R.State.ID: Sendable

extension IdentifiedAction: Sendable where Action: Sendable {}

extension IdentifiedAction: ChildCollectionAction {
  /// The actions of an element.
  public typealias ElementAction = Action
  /// The array of these identities.
  public typealias Container = IdentifiedArray<ID, Never>

  /// Runs a child on each element, for `forEach`.
  @inlinable
  public static func _$forEach<State, ParentAction, Child: Reducer>(
    _ part: any Sendable,
    _ path: AnyCasePath<ParentAction, Self>,
    _ child: Child,
    fileID: StaticString,
    filePath: StaticString,
    line: UInt,
    column: UInt
  ) -> @Sendable (Reduction<State, ParentAction>) -> Reduction<State, ParentAction> where Child.Action == Action {
    guard let part = part as? StatePart<State, IdentifiedArray<ID, Child.State>> else {
      preconditionFailure("The child does not run on '\(part)'. Call 'forEach' instead of this method.")
    }
    return Reduction.withElements(
      part,
      AnyCasePath<ParentAction, (ID, Action)>(
        embed: { path.embed(.element(id: $0, action: $1)) },
        extract: { action in
          guard case .element(let id, let action)? = path.extract(from: action) else { return nil }
          return (id, action)
        }
      ),
      child,
      at: CallSite(fileID: fileID, filePath: filePath, line: line, column: column)
    )
  }
}

extension IdentifiedAction: Equatable where Action: Equatable {}
extension IdentifiedAction: Hashable where Action: Hashable {}
extension IdentifiedAction: Decodable where ID: Decodable, Action: Decodable {}
extension IdentifiedAction: Encodable where ID: Encodable, Action: Encodable {}

extension IdentifiedAction: CasePathable {
  /// The paths of the cases.
  public struct AllCasePaths: Sendable {
    /// The path of `element`.
    public var element: AnyCasePath<IdentifiedAction, (id: ID, action: Action)> {
      AnyCasePath(
        embed: { .element(id: $0.id, action: $0.action) },
        extract: { if case .element(let id, let action) = $0 { (id, action) } else { nil } }
      )
    }

    /// The path of the actions of one element.
    public subscript(id id: ID) -> AnyCasePath<IdentifiedAction, Action> {
      AnyCasePath(
        embed: { .element(id: id, action: $0) },
        extract: { if case .element(id, let action) = $0 { action } else { nil } }
      )
    }
  }

  /// The paths of all cases.
  public static var allCasePaths: AllCasePaths { AllCasePaths() }
}
