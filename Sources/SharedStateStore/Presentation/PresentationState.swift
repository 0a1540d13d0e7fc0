import IssueReporting
import SharedState
import Synchronization

/// A state that exists only while it is presented.
///
/// ```swift
/// struct State {
///   @PresentationState var child: Child.State?
/// }
/// ```
///
/// The parent presents by assigning a state, and ends the presentation by assigning `nil`. Assigning a state with
/// another identity, that is another `id` or another case, begins a new presentation.
@propertyWrapper
public struct PresentationState<State> {
  // An array, because a struct cannot contain itself, and because an array is copied only when it must be.
  @usableFromInline
  var storage: [State]

  /// A number that no other presentation has; zero when nothing is presented.
  @usableFromInline
  private(set) var identity: UInt64

  /// Presents a state, or nothing.
  public init(wrappedValue: State?) {
    storage = wrappedValue.map { [$0] } ?? []
    identity = wrappedValue == nil ? 0 : PresentationNumbers.next()
  }

  /// The presented state.
  public var wrappedValue: State? {
    get { storage.first }
    set {
      let isSame =
        if let old = storage.first, let newValue { StateIdentity(of: old) == StateIdentity(of: newValue) } else {
          false
        }
      storage = newValue.map { [$0] } ?? []
      if !isSame { identity = newValue == nil ? 0 : PresentationNumbers.next() }
    }
    _modify {
      let before = storage.first.map { StateIdentity(of: $0) }
      var value = storage.popLast()
      defer {
        if let value { storage.append(value) }
        if value.map({ StateIdentity(of: $0) }) != before { identity = value == nil ? 0 : PresentationNumbers.next() }
      }
      yield &value
    }
  }

  /// The presentation itself, as `ifLet` takes it.
  public var projectedValue: Self {
    get { self }
    set { self = newValue }
  }

  /// Changes the presented state in place, and keeps the identity. Returns `nil` when nothing is presented.
  @inlinable
  mutating func modify<Result>(_ body: (inout State) -> Result) -> Result? {
    storage.isEmpty ? nil : body(&storage[0])
  }

  /// The identity of the presentation; `nil` when nothing is presented.
  @inlinable
  var stateIdentity: StateIdentity? { identity == 0 ? nil : .number(identity) }
}

/// Numbers presentations.
private enum PresentationNumbers {
  private static let last = Atomic<UInt64>(0)

  static func next() -> UInt64 { last.wrappingAdd(1, ordering: .relaxed).newValue }
}

extension PresentationState where State: CasePathable {
  /// The value of the presented state in a case; `nil` when another case is presented, or nothing.
  ///
  /// Assigning a value while it is `nil` reports an issue, and changes nothing. So does any other change, also behind
  /// `?`, of a case that the presented state is not in.
  public subscript<Value>(case path: CaseKeyPath<State, Value>) -> Value? {
    get { self[case: AnyCasePath(path)] }
    set { self[case: AnyCasePath(path)] = newValue }
  }
}

extension PresentationState {
  /// The value of the presented state in a case, by a case path. In other respects it is the same as with a case key
  /// path.
  public subscript<Value>(case path: AnyCasePath<State, Value>) -> Value? {
    get { wrappedValue.flatMap { path.extract(from: $0) } }
    set {
      guard self[case: path] != nil else {
        return reportWrongCase(newValue, wrappedValue)
      }
      wrappedValue = newValue.map { path.embed($0) }
    }
  }
}

/// Reports a change of the value of a case that a state is not in. Nothing is wrong with removing the value of a state
/// that is not there.
func reportWrongCase<Value, State>(_ newValue: Value?, _ state: State?) {
  guard newValue != nil || state != nil else { return }
  reportIssue(
    """
    \(newValue == nil ? "No value" : "A value") of type '\(Value.self)' was assigned to a case that the state is not in: the \
    state is \(state.map { Difference.dump($0) } ?? "nil"). Assign the state itself to change its case.
    """
  )
}

extension PresentationState: Sendable where State: Sendable {}

extension PresentationState: Equatable where State: Equatable {
  /// Whether both present equal states, or both nothing.
  public static func == (lhs: Self, rhs: Self) -> Bool {
    // Copies share their storage until one of them changes.
    let isCopy = lhs.storage.withUnsafeBufferPointer { lhs in
      rhs.storage.withUnsafeBufferPointer { lhs.baseAddress == $0.baseAddress && lhs.count == $0.count }
    }
    if isCopy { return true }
    // Identities distinguish most values, without comparing all of their contents.
    return switch (lhs.storage.first, rhs.storage.first) {
    case (nil, nil): true
    case (let left?, let right?):
      (lhs.identity == rhs.identity || StateIdentity(of: left) == StateIdentity(of: right)) && left == right
    default: false
    }
  }
}

extension PresentationState: Hashable where State: Hashable {
  /// Hashes the presented state.
  public func hash(into hasher: inout Hasher) { hasher.combine(storage.first) }
}

extension PresentationState: Decodable where State: Decodable {
  /// Decodes the presented state, or `nil`.
  public init(from decoder: any Decoder) throws {
    self.init(wrappedValue: try decoder.singleValueContainer().decode(State?.self))
  }
}

extension PresentationState: Encodable where State: Encodable {
  /// Encodes the presented state, or `nil`.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(wrappedValue)
  }
}

extension PresentationState: CustomReflectable {
  /// The presented state.
  public var customMirror: Mirror { Mirror(reflecting: wrappedValue as Any) }
}

/// The actions of a presentation.
public enum PresentationAction<Action> {
  /// Ends the presentation.
  case dismiss
  /// An action of the presented child.
  indirect case presented(Action)
}

extension PresentationAction: Sendable where Action: Sendable {}
extension PresentationAction: Equatable where Action: Equatable {}
extension PresentationAction: Hashable where Action: Hashable {}
extension PresentationAction: Decodable where Action: Decodable {}
extension PresentationAction: Encodable where Action: Encodable {}

extension PresentationAction: CasePathable {
  /// The actions of the presented child.
  public typealias _$ChildAction = Action
  /// Actions of a presentation.
  public typealias _$Container = PresentationAction<Never>

  /// The paths of the cases.
  @dynamicMemberLookup
  public struct AllCasePaths: Sendable {
    /// The path of `dismiss`.
    public var dismiss: AnyCasePath<PresentationAction, Void> {
      AnyCasePath(embed: { _ in .dismiss }, extract: { if case .dismiss = $0 { () } else { nil } })
    }

    /// The path of `presented`.
    public var presented: AnyCasePath<PresentationAction, Action> {
      AnyCasePath(embed: { .presented($0) }, extract: { if case .presented(let action) = $0 { action } else { nil } })
    }

    /// The path of an action of the presented child: `\.child.increment` is short for `\.child.presented.increment`.
    public subscript<Member>(
      dynamicMember keyPath: KeyPath<Action.AllCasePaths, AnyCasePath<Action, Member>>
    ) -> AnyCasePath<PresentationAction, Member> where Action: CasePathable {
      presented.appending(path: Action.allCasePaths[keyPath: keyPath])
    }
  }

  /// The paths of all cases.
  public static var allCasePaths: AllCasePaths { AllCasePaths() }
}
